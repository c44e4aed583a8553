/// Which filters a device switches on or off; of others the operator's configuration decides alone.
package struct FilterSwitches: Hashable, Sendable {
    /// By the filter's name, at most ``limit``.
    package var byName: [String: Bool]

    /// How many a registration may name.
    package static let limit = 16

    package init(_ byName: [String: Bool] = [:]) {
        self.byName = byName
    }

    package var isEmpty: Bool { byName.isEmpty }

    /// Nil when the device says nothing of that filter.
    package subscript(name: String) -> Bool? { byName[name] }
}
