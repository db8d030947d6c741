"""The main job played on stand-ins: processes, the control API's client, the story, and how it reads."""
