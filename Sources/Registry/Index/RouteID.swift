/// The number of a ``Route``, the same as long as the registry lives.
package struct RouteID: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) {
        self.rawValue = rawValue
    }
}
