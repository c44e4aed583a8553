import Core
import Foundation
import Synchronization

/// A time zone by its IANA name. Two zones with the same name are equal.
package final class NamedZone: Hashable, Sendable {
    /// The maximum length of a name in bytes. Real names are shorter.
    private static let nameLimit = 64
    /// The zones named so far, which devices share. Names that Foundation does not know are not stored.
    private static let known = Mutex<[String: NamedZone]>([:])

    package let name: String
    /// Nil if Foundation does not know the zone. Its rules ship with Swift's libraries, not with the machine's tzdata.
    /// A lookup takes 60 to 120 ns.
    private let zone: TimeZone?

    private init(name: String, zone: TimeZone?) {
        self.name = name
        self.zone = zone
    }

    /// Returns the zone of that name, as in `Europe/Berlin`; nil if no zone can have such a name. An unknown zone
    /// counts as UTC, so that a device is not lost because of its time zone.
    package static func named(_ name: String) -> NamedZone? {
        guard isName(name) else { return nil }
        if let zone = known.withLock({ $0[name] }) { return zone }
        guard let rules = TimeZone(identifier: name), isZone(rules.identifier, of: name) else {
            return NamedZone(name: name, zone: nil)
        }
        return known.withLock { known in
            let zone = known[name] ?? NamedZone(name: name, zone: rules)
            known[name] = zone
            return zone
        }
    }

    /// Whether the changes of its clocks are known.
    package var isKnown: Bool { zone != nil }

    /// How far clocks there are ahead of UTC, in minutes.
    package func minutesAhead(at moment: Timestamp) -> Int {
        guard let zone else { return 0 }
        return zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(moment.milliseconds) / 1_000)) / 60
    }

    /// Foundation also takes offsets, as in `GMT+0530` and `UTC+3`.
    private static func isZone(_ identifier: String, of name: String) -> Bool {
        identifier == "GMT" || identifier == name && !name.hasPrefix("GMT+") && !name.hasPrefix("GMT-")
    }

    /// Whether a name, which comes from a client, has the form of a zone's name.
    private static func isName(_ name: String) -> Bool {
        name.utf8.count <= nameLimit && name.utf8.first.map { $0 > 0x40 } == true
            && name.utf8.allSatisfy { byte in
                switch byte {
                case 0x2F...0x39, 0x41...0x5A, 0x61...0x7A, 0x2B, 0x2D, 0x5F: true
                default: false
                }
            }
    }

    package static func == (left: NamedZone, right: NamedZone) -> Bool { left.name == right.name }

    package func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
