/// Which events a subscription wants (NIP-01). What is `nil` or absent does not matter; an empty set matches nothing.
package struct Filter: Hashable, Sendable {
    package var ids: Set<EventID>?
    package var authors: Set<PublicKey>?
    package var kinds: Set<Kind>?
    /// By letter, `e` for `#e`: values of which an event has one at the first place of such a tag. Texts that differ
    /// only in how Unicode composes their characters count as equal.
    package var tags: [Character: Set<String>]
    /// Seconds since 1970, inclusive.
    package var since: Int64?
    /// Seconds since 1970, inclusive.
    package var until: Int64?
    /// How many stored events to send at most, the newest. Says nothing about events to come.
    package var limit: Int?

    package init(
        ids: Set<EventID>? = nil,
        authors: Set<PublicKey>? = nil,
        kinds: Set<Kind>? = nil,
        tags: [Character: Set<String>] = [:],
        since: Int64? = nil,
        until: Int64? = nil,
        limit: Int? = nil
    ) {
        self.ids = ids
        self.authors = authors
        self.kinds = kinds
        self.tags = tags
        self.since = since
        self.until = until
        self.limit = limit
    }

    /// Whether the subscription wants `event`. ``limit`` has no part in it.
    package func matches(_ event: Event) -> Bool {
        if let ids, !ids.contains(event.id) { return false }
        if let authors, !authors.contains(event.pubkey) { return false }
        if let kinds, !kinds.contains(event.kind) { return false }
        if let since, event.createdAt < since { return false }
        if let until, event.createdAt > until { return false }
        return tags.allSatisfy { letter, values in
            event.tags.contains { tag in
                tag.count > 1 && tag[0] == String(letter) && values.contains(tag[1])
            }
        }
    }
}
