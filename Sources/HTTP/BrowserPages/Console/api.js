// Calls the router's API with the session of the signed-in person.

const root = new URL("../v1/", location.href).href

/** An error response of the router, with its message. */
export class ApiProblem extends Error {
  constructor(status, object, retryAfter) {
    super(object?.detail ?? `HTTP ${status}`)
    this.status = status
    /** The message's code and values; undefined if the router sent only text. */
    this.says = object?.says
    /** Errors in the request, one sentence each. */
    this.mistakes = Array.isArray(object?.mistakes) ? object.mistakes : []
    this.retryAfter = retryAfter
  }
}

/** The router is unreachable. */
export class Unreachable extends Error {}

export const address = (path, query = {}) => {
  const url = new URL(path, root)
  for (const [name, value] of Object.entries(query)) if (value !== "" && value !== undefined && value !== null) url.searchParams.set(name, value)
  return url.href
}

/** Returns the object in the router's response. Throws an ``ApiProblem`` or ``Unreachable``. */
export async function ask(path, { method = "GET", query, body } = {}) {
  const headers = body ? { "content-type": "application/json" } : {}
  let answer
  try {
    answer = await fetch(address(path, query), { method, headers, body: body && JSON.stringify(body), redirect: "error" })
  } catch {
    throw new Unreachable("unreachable")
  }
  const object = await answer.json().catch(() => null)
  // Sessions expire, and end when the router restarts.
  if (answer.status === 401) dispatchEvent(new Event("signedout"))
  if (!answer.ok || object === null) throw new ApiProblem(answer.status, object, answer.headers.get("retry-after"))
  return object
}

/** Encodes one segment of a path. */
export const segment = text => encodeURIComponent(text)
