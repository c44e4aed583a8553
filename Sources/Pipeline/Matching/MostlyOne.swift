/// Values of which there is one, mostly. That one is kept in place: an array would ask for memory for it, with each
/// event.
struct MostlyOne<Element> {
    private var only: Element?
    /// Those behind it.
    private var others: [Element] = []

    var count: Int { only == nil ? 0 : 1 + others.count }

    mutating func append(_ element: Element) {
        if only == nil { only = element } else { others.append(element) }
    }

    func first(where isWanted: (Element) -> Bool) -> Element? {
        if let only, isWanted(only) { return only }
        return others.isEmpty ? nil : others.first(where: isWanted)
    }
}
