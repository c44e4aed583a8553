import CarillonABI

/// A filter that a plugin offers: listed, but not run yet.
struct FilterDescription: Sendable {
    let name: String

    init(reading pointer: UnsafePointer<carillon_filter>) throws(PluginRefusal.Reason) {
        guard let filter = carillon_filter(adopting: pointer) else {
            throw .badDescriptor("struct_size of a carillon_filter is implausible")
        }
        guard let name = PluginText.word(filter.name) else {
            throw .badDescriptor("a filter's name must be 1 to 64 of a-z, 0-9, \"-\" and \"_\"")
        }
        let owner = "filter \(name)"
        guard filter.create != nil else { throw .missingFunction("create", of: owner) }
        guard filter.destroy != nil else { throw .missingFunction("destroy", of: owner) }
        guard filter.decide != nil else { throw .missingFunction("decide", of: owner) }
        self.name = name
    }
}
