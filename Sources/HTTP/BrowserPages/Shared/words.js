// Finds a page's texts in the person's language.

/** Returns text finders; `texts` are by language and key, and English has every key. */
export const wordsOf = texts => {
  const form = (language, key, n) => {
    const text = (texts[language] ?? texts.en)[key] ?? texts.en[key] ?? ""
    return typeof text === "string" ? text : text[n === 1 ? "one" : "many"]
  }
  return {
    /** The text under `key` in a language, with each `{name}` replaced and the plural form for `n`. */
    textIn: (language, key, values = {}) =>
      Object.entries(values).reduce((result, [name, value]) => result.replaceAll(`{${name}}`, () => String(value)), form(language, key, values.n)),

    /** The same as texts and nodes; a value may be one or more nodes. */
    phraseIn: (language, key, values = {}) =>
      form(language, key, values.n).split(/(\{\w+\})/).filter(Boolean).flatMap(part => (/^\{\w+\}$/.test(part) ? values[part.slice(1, -1)] ?? [] : part)),

    /** The browser's first language that has texts. */
    browserLanguage: () => {
      const wanted = (navigator.languages ?? [navigator.language]).map(tag => tag.slice(0, 2).toLowerCase())
      return wanted.find(tag => tag in texts) ?? "en"
    },
  }
}
