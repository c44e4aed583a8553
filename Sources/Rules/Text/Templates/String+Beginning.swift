extension String {
    /// The first `count` whole characters, as far as they fit into `bytes`: one character of Unicode, with accents upon
    /// accents, can be as long as an event.
    package func beginning(_ count: Int, bytes: Int) -> Substring {
        // A character has at least one byte, so most texts need no counting.
        guard utf8.count > min(count, bytes) else { return self[...] }
        var room = bytes
        var end = startIndex
        for position in indices.prefix(count) {
            room -= self[position].utf8.count
            guard room >= 0 else { break }
            end = index(after: position)
        }
        return self[..<end]
    }
}
