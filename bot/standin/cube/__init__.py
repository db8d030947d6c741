from bot.standin.cube.server import CubeStandIn

__all__ = ["CubeStandIn"]
