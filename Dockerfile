# docker build -t vase . && docker run --rm -it -v "$PWD/runs:/work/runs" vase train --stream digits,glyphs --out runs/mine
FROM python:3.12-slim

WORKDIR /opt/vase
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY vase ./vase
# EXTRAS: e.g. --build-arg EXTRAS=[hub,onnx,tensorboard]
ARG EXTRAS=""
RUN python -m pip install --no-cache-dir --constraint constraints.txt ".${EXTRAS}"

RUN useradd --create-home vase && mkdir /work && chown vase /work
USER vase
WORKDIR /work
ENV VASE_DATA=/work/runs/data
ENTRYPOINT ["vase"]
CMD ["--help"]
