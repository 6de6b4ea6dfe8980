/** Keeps hashed static files and the page without a connection; pages and their data never pass through here. */

const CACHE = "keel-{{ version }}";
const OFFLINE = "{% url 'offline' %}";
const STATIC = "{{ static_prefix }}";
const FILES = [OFFLINE{% for file in files %}, "{{ file }}"{% endfor %}];
const HASHED = /\.[0-9a-f]{12}\.\w+$/; // such a file never changes under its name

self.addEventListener("install", (event) => {
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(FILES)).then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => {
  event.waitUntil(dropOthers().then(() => self.clients.claim()));
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method !== "GET" || origin !== location.origin) return;
  if (request.mode === "navigate") {
    event.respondWith(fetch(request).catch(async () => (await caches.match(OFFLINE)) ?? Response.error()));
  } else if (pathname.startsWith(STATIC) && HASHED.test(pathname)) {
    event.respondWith(findFile(request));
  }
});

async function findFile(request) {
  const cache = await caches.open(CACHE);
  const kept = await cache.match(request);
  if (kept) return kept;
  const answer = await fetch(request);
  if (answer.ok) await cache.put(request, answer.clone());
  return answer;
}

async function dropOthers() {
  const names = await caches.keys();
  await Promise.all(names.filter((name) => name !== CACHE).map((name) => caches.delete(name)));
}
