/** Draw the API's description with Swagger UI; requests tried on the page go out as the signed-in user. */

const root = /** @type {HTMLElement} */ (document.getElementById("api-docs"));

// @ts-expect-error A global of swagger-ui-bundle.js.
SwaggerUIBundle({
  url: root.dataset.schema,
  domNode: root,
  deepLinking: true,
  validatorUrl: null, // the default asks another site to check the description
  /** @param {{method: string, headers: Record<string, string>}} request */
  requestInterceptor(request) {
    if (!["GET", "HEAD"].includes(request.method)) request.headers["X-CSRFToken"] = root.dataset.csrf ?? "";
    return request;
  },
});
