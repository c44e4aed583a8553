/// What a note answers (NIP-10).
package struct ThreadReference: Hashable, Sendable {
    /// The note that began the thread. `nil` only where a client left the marker out.
    package let root: EventReference?
    /// The note answered, which is the root itself for a first answer.
    package let parent: EventReference

    package init(root: EventReference?, parent: EventReference) {
        self.root = root
        self.parent = parent
    }
}

extension Event {
    /// What the event answers by its `e` tags (NIP-10); `nil` if it begins a thread of its own.
    ///
    /// With markers, they decide; a root alone is answered itself. Without any, the deprecated order of tags does:
    /// the first is the root, the last is answered.
    package var thread: ThreadReference? {
        var root: EventReference?
        var reply: EventReference?
        var unmarked: [EventReference] = []
        for tag in tags where tag.first == "e" {
            let marker = tag.count > 3 ? tag[3] : ""
            guard let reference = EventReference(tag: tag, authorIndex: tag.count > 4 ? 4 : 3) else { continue }
            switch marker {
            case "root": root = root ?? reference
            case "reply": reply = reply ?? reference
            case "mention": continue
            default: unmarked.append(reference)
            }
        }
        if let parent = reply ?? root { return ThreadReference(root: root, parent: parent) }
        guard let first = unmarked.first, let last = unmarked.last else { return nil }
        return ThreadReference(root: first, parent: last)
    }
}
