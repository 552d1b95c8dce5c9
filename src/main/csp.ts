/**
 * What the page may load and reach: itself, and pictures that it draws. Inline scripts, eval, inline style sheets and
 * every other host are refused. The built index.html carries this as a meta tag, the browser door as a header too.
 */
export const pagePolicy = [
  "default-src 'self'",
  "img-src 'self' data: blob:",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

/** As a header the policy can also say that no other page may frame this one; a meta tag can't. */
export const headerPolicy = `${pagePolicy}; frame-ancestors 'none'`;
