# The image of site and worker, used by compose.yaml. It runs without root and writes to /data alone.
FROM python:3.13-slim@sha256:7c61056e61ac89e852de05f3dc6fa51a6dd2181797bceed46aa725dd7cb2cd3b AS build
WORKDIR /src
COPY requirements/build.txt requirements/site.txt requirements/
# Each package by its hash, with all extras. What builds the wheel stays in this stage.
RUN python -m venv /usr/local/lib/keel \
    && /usr/local/lib/keel/bin/pip install --no-cache-dir --require-hashes -r requirements/site.txt \
    && pip install --no-cache-dir --require-hashes -r requirements/build.txt
COPY pyproject.toml README.md LICENSE ./
COPY chat chat
COPY config config
COPY memory memory
COPY offline offline
COPY trading trading
COPY templates templates
COPY static static
RUN pip wheel --no-deps --no-build-isolation --wheel-dir dist . \
    && /usr/local/lib/keel/bin/pip install --no-deps --no-index dist/*.whl

FROM python:3.13-slim@sha256:7c61056e61ac89e852de05f3dc6fa51a6dd2181797bceed46aa725dd7cb2cd3b
RUN useradd --system --uid 10001 --home-dir /data --create-home keel
COPY --from=build /usr/local/lib/keel /usr/local/lib/keel
ENV PATH=/usr/local/lib/keel/bin:$PATH KEEL_HOME=/data HOST=0.0.0.0 PORT=8000 PYTHONUNBUFFERED=1 LOG_FORMAT=json
USER keel
WORKDIR /data
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/healthz/', timeout=4)"]
CMD ["sh", "-c", "keel collectstatic --noinput -v 0 && exec keel up"]
