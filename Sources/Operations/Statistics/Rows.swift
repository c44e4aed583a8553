extension Array {
    /// Its parts in order, each of neighbours that are alike: whoever counts looks at the first of each.
    func rows(where areAlike: (Element, Element) -> Bool) -> [ArraySlice<Element>] {
        var rows: [ArraySlice<Element>] = []
        var start = startIndex
        for place in indices where !areAlike(self[start], self[place]) {
            rows.append(self[start..<place])
            start = place
        }
        if start < endIndex { rows.append(self[start...]) }
        return rows
    }
}
