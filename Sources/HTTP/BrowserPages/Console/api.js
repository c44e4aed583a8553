// Asks the router's API, as whoever is signed in.

const root = new URL("../v1/", location.href).href

/** Why the router did not do something, in its own words. */
export class ApiProblem extends Error {
  constructor(status, object, retryAfter) {
    super(object?.detail ?? `HTTP ${status}`)
    this.status = status
    /** The same for programs; undefined: only the words say it. */
    this.says = object?.says
    /** Mistakes in what was sent, a sentence each. */
    this.mistakes = Array.isArray(object?.mistakes) ? object.mistakes : []
    this.retryAfter = retryAfter
  }
}

/** The router cannot be reached. */
export class Unreachable extends Error {}

export const address = (path, query = {}) => {
  const url = new URL(path, root)
  for (const [name, value] of Object.entries(query)) if (value !== "" && value !== undefined && value !== null) url.searchParams.set(name, value)
  return url.href
}

/** The object that the router answers. Throws an ``ApiProblem`` or ``Unreachable``. */
export async function ask(path, { method = "GET", query, body } = {}) {
  const headers = body ? { "content-type": "application/json" } : {}
  let answer
  try {
    answer = await fetch(address(path, query), { method, headers, body: body && JSON.stringify(body), redirect: "error" })
  } catch {
    throw new Unreachable("unreachable")
  }
  const object = await answer.json().catch(() => null)
  // A session ends after a while, and when the router starts anew.
  if (answer.status === 401) dispatchEvent(new Event("signedout"))
  if (!answer.ok || object === null) throw new ApiProblem(answer.status, object, answer.headers.get("retry-after"))
  return object
}

/** A part of a path. */
export const segment = text => encodeURIComponent(text)
