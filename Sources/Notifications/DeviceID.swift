/// A device's number in the registry; never reused.
package struct DeviceID: RawRepresentable, Hashable, Sendable, Comparable {
    package let rawValue: Int64

    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    package static func < (left: DeviceID, right: DeviceID) -> Bool { left.rawValue < right.rawValue }
}
