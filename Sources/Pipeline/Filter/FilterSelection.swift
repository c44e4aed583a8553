/// Some of the filters, by their places in the operator's order.
struct FilterSelection: OptionSet, Hashable {
    /// How many filters there can be.
    static let limit = 64

    let rawValue: UInt64

    init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    init(at place: Int) {
        rawValue = 1 << UInt64(place)
    }

    func contains(at place: Int) -> Bool { contains(FilterSelection(at: place)) }
}
