# The speech server on the CPU, for x86-64 and ARM64. docs/containers.md says how to build and run it.
#   docker build -f containers/cpu.Dockerfile -t speakahead:cpu .
# The digest is that of the multi-platform index; `containers/pin` checks and renews it.
ARG BASE=python:3.12.15-slim-bookworm@sha256:34386ef0cb081344d7ec1c103ba398e6e9f64e9ab3a1509accc92a4e24a07258

FROM ${BASE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_ROOT_USER_ACTION=ignore
WORKDIR /build
COPY containers/requirements/build.txt containers/requirements/cpu.txt ./
# docopt, which num2words needs, has no wheel: it is built with the pinned tools.
RUN python -m pip install --require-hashes --no-deps --only-binary :all: -r build.txt \
    && python -m pip wheel --require-hashes --no-deps --no-build-isolation \
        --only-binary :all: --no-binary docopt --wheel-dir wheels -r cpu.txt \
    && python -m venv --without-pip /opt/venv \
    && python -m pip --python /opt/venv/bin/python install --no-index --no-deps wheels/*.whl
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN python -m pip wheel --no-deps --no-build-isolation --no-index --wheel-dir own . \
    && python -m pip --python /opt/venv/bin/python install --no-index --no-deps own/*.whl

FROM build AS model
# Fetched, compared with its SHA-256 sums and prepared here; nothing is downloaded while serving.
# The client that fetches is this interpreter's pip, which the image itself does without.
ENV XDG_CACHE_HOME=/opt/speakahead \
    ORT_DISABLE_TELEMETRY=1 \
    PYTHONPATH=/opt/venv/lib/python3.12/site-packages
RUN python -m speakahead models pull \
    && python -m speakahead models verify \
    && chmod -R a+rX /opt/speakahead

FROM ${BASE}
LABEL org.opencontainers.image.title="speakahead" \
      org.opencontainers.image.description="Speech that starts before the agent has finished writing" \
      org.opencontainers.image.licenses="Apache-2.0 AND GPL-3.0-or-later" \
      com.amazonaws.sagemaker.capabilities.bidirectional-streaming="true"
# The model in the cache below is the one that is used where /opt/ml/model holds none.
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    XDG_CACHE_HOME=/opt/speakahead \
    ORT_DISABLE_TELEMETRY=1 \
    SPEAKAHEAD_HOST=0.0.0.0 \
    SPEAKAHEAD_LOG_FORMAT=json
COPY --from=build /opt/venv /opt/venv
COPY --from=model /opt/speakahead /opt/speakahead
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=2s --start-period=120s \
    CMD ["/opt/venv/bin/python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8080/ping')"]
# The platform runs `image serve`, and expects the process to be number 1 and root.
ENTRYPOINT ["/opt/venv/bin/speakahead"]
CMD ["serve"]
