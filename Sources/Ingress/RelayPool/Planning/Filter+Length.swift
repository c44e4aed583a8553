import Nostr

extension Filter {
    /// Bytes of its JSON, a few more rather than fewer.
    var estimatedLength: Int {
        let quotes = 3
        let keys = (ids?.count ?? 0) + (authors?.count ?? 0)
        let values = tags.values.reduce(0) { sum, values in sum + values.reduce(8) { $0 + $1.utf8.count + quotes } }
        return 120 + keys * FilterPlan.keyLength + values + (kinds?.count ?? 0) * 6
    }
}
