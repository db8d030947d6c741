"""Hermes Agent and Hermes Studio of the stand-in template. Standard library only.

``bot.standin.templates`` copies this package to ``/usr/local/lib/hermes-studio/hermes_studio`` of a
template and starts it through ``/usr/local/bin/hermes`` and ``/usr/local/bin/hermes-web-ui``.
"""
