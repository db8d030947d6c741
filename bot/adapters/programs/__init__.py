"""Programs that the bot sends to a node or into a sandbox and runs there.

They use the standard library only and run on Python 3.8 or later. Each file tells one story and imports the
others as modules, so that its decisions can be tested; ``assemble`` joins them into one text.
"""
