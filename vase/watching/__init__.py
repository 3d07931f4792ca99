"""Watching: a learner on a folder that fills up, a video, a camera or a pipe, with a record that can be resumed."""

from typing import TYPE_CHECKING

from vase.lazy import attach

if TYPE_CHECKING:
    from vase.watching.frames import Broken as Broken
    from vase.watching.frames import Frame as Frame
    from vase.watching.frames import Notice as Notice
    from vase.watching.records import Watched as Watched
    from vase.watching.session import watch as watch
    from vase.watching.settings import WatchSettings as WatchSettings
    from vase.watching.sources import Source as Source
    from vase.watching.sources import open_source as open_source

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "Broken": "frames",
        "Frame": "frames",
        "Notice": "frames",
        "Source": "sources",
        "WatchSettings": "settings",
        "Watched": "records",
        "open_source": "sources",
        "watch": "session",
    },
)
