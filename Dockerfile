# The image of site and worker, used by compose.yaml. It runs without root and writes to /data alone.
FROM python:3.12-slim AS build
WORKDIR /src
COPY requirements/base.txt requirements/base.txt
RUN python -m venv /usr/local/lib/keel && /usr/local/lib/keel/bin/pip install --no-cache-dir --require-hashes -r requirements/base.txt
COPY pyproject.toml README.md LICENSE ./
COPY chat chat
COPY config config
COPY memory memory
COPY offline offline
COPY trading trading
COPY templates templates
COPY static static
# The extras of a site for many: jobs in PostgreSQL, metrics and error reports. Add `venues` for accounts at venues.
ARG EXTRAS=providers,jobs,metrics
RUN /usr/local/lib/keel/bin/pip install --no-cache-dir ".[${EXTRAS}]"

FROM python:3.12-slim
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
