"""The explorer as a local web application: a page, and answers to what it asks.

One thread computes, so that answers come in the order of the questions and a core is enough.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from vase.explorer import questions
from vase.explorer.answers import about, animation, decoded, mixed
from vase.explorer.models import CONTEXT, Models
from vase.explorer.page import explorer_page
from vase.explorer.server import Refused, local_app, new_token, read_body, read_json, serve

LARGEST_PICTURE = 16 * 2**20
LARGEST_QUESTION = 2 * 2**20
UPLOADS = 2  # that are in memory at the same time
QUESTIONS = 16  # that are in memory at the same time
PATIENCE = 30.0  # seconds for a question or a picture to arrive

T = TypeVar("T")
Endpoint = Callable[[Request], Awaitable[Response]]


def explore(
    runs: Sequence[str | os.PathLike[str]],
    *,
    data: str | None = None,
    port: int = 0,
    ready: Callable[[str], None] = print,
) -> None:
    """Serve the explorer of some runs on this machine until Ctrl-C; `ready` gets the address to open."""
    token = new_token()
    models = Models(runs, data)
    models.open(models.choices()[-1]["id"])
    serve(explorer_app(models, token), token, port=port, ready=ready)


def explorer_app(models: Models, token: str) -> Starlette:
    """The application; whoever knows the token can use it."""
    answers = Answers(models)
    asked = {
        "about": answers.about,
        "mix": answers.mix,
        "decode": answers.decode,
        "animate": answers.animate,
        "names": answers.names,
    }
    routes = [
        Route("/models", answers.endpoint(answers.models)),
        Route("/model", answers.endpoint(answers.model)),
        Route("/picture", answers.upload, methods=["POST"]),
        *(Route(f"/{name}", answers.endpoint(act, asks=True), methods=["POST"]) for name, act in asked.items()),
    ]
    return local_app(explorer_page(), routes, token)


class Answers:
    """Answers questions about models, one at a time."""

    def __init__(self, models: Models) -> None:
        self.shelf = models
        self.worker = ThreadPoolExecutor(1, "explorer")
        self.uploads, self.questions = asyncio.Semaphore(UPLOADS), asyncio.Semaphore(QUESTIONS)

    def endpoint(self, act: Callable[[dict[str, Any]], Response], *, asks: bool = False) -> Endpoint:
        """A route that reads a question, from its body or its address, and has it answered beside the event loop."""

        async def answer(request: Request) -> Response:
            if not asks:
                return await self.compute(act, dict(request.query_params))
            async with self.questions:
                return await self.compute(act, await arrived(read_json(request, LARGEST_QUESTION)))

        return answer

    async def compute(self, act: Callable[..., Response], *arguments: Any) -> Response:
        """Run something in the thread that computes."""
        return await asyncio.get_running_loop().run_in_executor(self.worker, act, *arguments)

    async def upload(self, request: Request) -> Response:
        """A picture of the user, as the learner sees it, and all that is known about it."""
        async with self.uploads:
            data = await arrived(read_body(request, LARGEST_PICTURE))
            return await self.compute(self.picture, data, request.query_params.get("model"))

    # ---------------------------------------------------------------- answers

    def models(self, question: dict[str, Any]) -> Response:
        """The checkpoints that can be opened."""
        return JSONResponse(self.shelf.choices())

    def model(self, question: dict[str, Any]) -> Response:
        """What the page shows of one of them."""
        return JSONResponse(self.shelf.open(question.get("id")).data)

    def picture(self, data: bytes, name: str | None) -> Response:
        """The image that a file becomes for a learner, and what the learner says about it."""
        model = self.shelf.open(name)
        return JSONResponse(about(model.answers, questions.picture_of_file(data, model.shape)))

    def about(self, question: dict[str, Any]) -> Response:
        """What a learner says about an image."""
        model = self.shelf.open(question.get("model"))
        return JSONResponse(about(model.answers, questions.image(question, "image", model.shape)))

    def mix(self, question: dict[str, Any]) -> Response:
        """What a learner says about the blend of two images, with and without context."""
        model = self.shelf.open(question.get("model"))
        first, second = (questions.image(question, name, model.shape) for name in ("first", "second"))
        share = questions.number(question, "share", 0, 1)
        count = int(questions.number(question, "context", 1, CONTEXT))
        contexts = {s: q[:count] for s, q in model.contexts.items()}
        return JSONResponse(mixed(model.answers, first, second, share, contexts))

    def decode(self, question: dict[str, Any]) -> Response:
        """Codes as bytes: picture by picture, row by row, one byte per channel."""
        learner = self.shelf.open(question.get("model")).answers
        codes = questions.codes(question.get("codes"), learner.n_latents)
        places = questions.environments(question.get("environments"), len(codes), len(learner.environments))
        return Response(decoded(learner, codes, places).tobytes(), media_type="application/octet-stream")

    def animate(self, question: dict[str, Any]) -> Response:
        """Codes as a GIF: `codes` has all pictures of the first frame, then those of the second, and so on."""
        learner = self.shelf.open(question.get("model")).answers
        codes = questions.codes(question.get("codes"), learner.n_latents)
        places = questions.environments(question.get("environments"), len(codes), len(learner.environments))
        tiles = int(questions.number(question, "tiles", 1, len(codes)))
        if len(codes) % tiles:
            raise ValueError(f"{len(codes)} codes: not a whole number of frames with {tiles} pictures each.")
        columns = int(questions.number(question, "columns", 1, tiles))
        pixels = decoded(learner, codes, places)
        frames = pixels.reshape(-1, tiles, *pixels.shape[1:])
        return Response(animation(frames, columns), media_type="image/gif")

    def names(self, question: dict[str, Any]) -> Response:
        """Save the names of latents with the run."""
        model = self.shelf.open(question.get("model"))
        named = questions.latent_names(question, model.learner.n_latents)
        try:
            model.directory.write_latent_names(named)
        except OSError as error:
            raise Refused(409, f"The names cannot be saved: {error.strerror or error}") from error
        self.shelf.renamed(model.directory, named)
        return JSONResponse({"names": {str(latent): name for latent, name in named.items()}})


async def arrived(body: Awaitable[T]) -> T:
    """What was sent, unless it takes too long."""
    try:
        async with asyncio.timeout(PATIENCE):
            return await body
    except TimeoutError as error:
        raise Refused(408, f"nothing complete has arrived within {PATIENCE:.0f} seconds.") from error
