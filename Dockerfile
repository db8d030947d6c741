# The bot, without its tests. Build: docker build -t hermes-bot .
FROM python:3.11-slim AS build
WORKDIR /src
COPY requirements.lock requirements-dev.lock pyproject.toml README.md ./
RUN python -m venv /opt/hermes-bot && /opt/hermes-bot/bin/pip install --no-cache-dir --require-hashes -r requirements.lock
RUN python -m venv /opt/build && /opt/build/bin/pip install --no-cache-dir --require-hashes -r requirements-dev.lock
COPY bot bot
COPY handlers handlers
RUN /opt/build/bin/python -m hatchling build -t wheel && /opt/hermes-bot/bin/pip install --no-cache-dir --no-deps dist/*.whl

FROM python:3.11-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends rsync openssh-client \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 10001 --create-home --home-dir /var/lib/hermes-bot hermes
COPY --from=build /opt/hermes-bot /opt/hermes-bot
RUN /opt/hermes-bot/bin/python -m compileall -q /opt/hermes-bot/lib
ENV PATH=/opt/hermes-bot/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    HERMES_BOT_CONFIG=/etc/hermes-bot/hermes-bot.toml \
    HERMES_BOT_DATABASE_URL=sqlite:////var/lib/hermes-bot/audit.db \
    HERMES_BOT_HTTP=0.0.0.0:8080 \
    HERMES_BOT_LOG=json
USER hermes
VOLUME /var/lib/hermes-bot
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
  CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8080/readyz', timeout=4)"]
ENTRYPOINT ["hermes-bot"]
CMD ["serve"]
