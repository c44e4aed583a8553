extension Array {
    /// Its parts in order, each of neighbours that are alike: whoever counts looks at the first of each. `areAlike` is
    /// asked by places, since elements are large.
    func rows(where areAlike: (Int, Int) -> Bool) -> [Range<Int>] {
        var rows: [Range<Int>] = []
        var start = startIndex
        for place in indices where !areAlike(start, place) {
            rows.append(start..<place)
            start = place
        }
        if start < endIndex { rows.append(start..<endIndex) }
        return rows
    }
}
