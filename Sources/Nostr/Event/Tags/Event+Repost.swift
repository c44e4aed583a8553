extension Event {
    /// What the event reposts (NIP-18): the id in its first `e` tag that has one; nil if it is no repost.
    package var repostedID: EventID? {
        guard kind == .repost || kind == .genericRepost || kind == .audioRepost else { return nil }
        return values(of: "e").lazy.compactMap { EventID(hex: $0) }.first
    }

    /// The event that a repost carries in its content (NIP-18); nil unless it is what its author signed and what `e` names.
    package var reposted: Event? {
        guard let repostedID, content.first == "{", let event = try? Event(json: Array(content.utf8)),
            event.id == repostedID, (try? event.verify()) != nil
        else { return nil }
        return event
    }
}
