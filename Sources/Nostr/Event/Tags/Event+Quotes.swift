extension Event {
    /// What the event quotes (NIP-18), in the order of its `q` tags.
    package var quotes: [EventTarget] {
        tags.compactMap { tag in
            guard tag.count > 1, tag[0] == "q" else { return nil }
            if let address = EventAddress(tag[1]) { return .address(address) }
            return EventReference(tag: tag, authorIndex: 3).map(EventTarget.event)
        }
    }
}
