// The registration's state in this browser, shared by the page and the service worker.

const open = () =>
  new Promise((resolve, reject) => {
    const request = indexedDB.open("carillon", 1)
    request.onupgradeneeded = () => request.result.createObjectStore("values")
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })

const transact = async (mode, work) => {
  const database = await open()
  try {
    return await new Promise((resolve, reject) => {
      const transaction = database.transaction("values", mode)
      const result = work(transaction.objectStore("values"))
      transaction.oncomplete = () => resolve(result.value)
      transaction.onabort = () => reject(transaction.error)
    })
  } finally {
    database.close()
  }
}

/** Reads the whole state. */
export const read = () =>
  transact("readonly", store => {
    const result = {}
    store.get("state").onsuccess = event => { result.value = event.target.result ?? {} }
    return result
  })

/** Merges these members in one transaction, so that page and worker do not undo each other's changes. */
export const merge = members =>
  transact("readwrite", store => {
    const result = {}
    store.get("state").onsuccess = event => {
      result.value = { ...event.target.result, ...members }
      store.put(result.value, "state")
    }
    return result
  })
