# The voice agent for Amazon Bedrock AgentCore (ARM64; x86-64 works too).
#   docker build --platform linux/arm64 -f containers/agent.Dockerfile -t speakahead:agent .
# The digest is that of the multi-platform index; `containers/pin` checks and renews it.
ARG BASE=python:3.12.15-slim-bookworm@sha256:34386ef0cb081344d7ec1c103ba398e6e9f64e9ab3a1509accc92a4e24a07258

FROM ${BASE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_ROOT_USER_ACTION=ignore
WORKDIR /build
COPY containers/requirements/build.txt containers/requirements/agent.txt ./
# docopt, which num2words needs, has no wheel: it is built with the pinned tools.
RUN python -m pip install --require-hashes --no-deps --only-binary :all: -r build.txt \
    && python -m pip wheel --require-hashes --no-deps --no-build-isolation \
        --only-binary :all: --no-binary docopt --wheel-dir wheels -r agent.txt \
    && python -m venv --without-pip /opt/venv \
    && python -m pip --python /opt/venv/bin/python install --no-index --no-deps wheels/*.whl
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN python -m pip wheel --no-deps --no-build-isolation --no-index --wheel-dir own . \
    && python -m pip --python /opt/venv/bin/python install --no-index --no-deps own/*.whl

FROM ${BASE}
LABEL org.opencontainers.image.title="speakahead-agent" \
      org.opencontainers.image.description="A voice agent that speaks while it writes" \
      org.opencontainers.image.licenses="Apache-2.0 AND GPL-3.0-or-later"
# No model of speech is in here: an endpoint speaks, or the server that SPEAKAHEAD_SPEECH names.
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    XDG_CACHE_HOME=/tmp \
    ORT_DISABLE_TELEMETRY=1 \
    SPEAKAHEAD_HOST=0.0.0.0 \
    SPEAKAHEAD_MODEL=bedrock
COPY --from=build /opt/venv /opt/venv
EXPOSE 8080
USER 10001:10001
ENTRYPOINT ["/opt/venv/bin/speakahead", "agent", "serve"]
