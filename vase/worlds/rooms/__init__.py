"""Two first-person worlds of one geometry, outdoors and indoors: scenes, and their rendering with MiniWorld."""

WORLDS = ("outdoors", "indoors")
