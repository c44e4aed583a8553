import Foundation
import Synchronization
import Units

/// The time zones that this machine's tzdata knows by their IANA names. Each is read when it is first named.
package final class TimeZones: Sendable {
    /// Those of Debian's package `tzdata`.
    package static let system = TimeZones(folder: "/usr/share/zoneinfo")

    /// Real names are shorter.
    private static let nameLimit = 64
    /// Real files are shorter.
    private static let fileLimit = 262_144
    /// Neither are zones: the machine's own one, and one that stands for any.
    private static let noZones: Set<String> = ["localtime", "posixrules", "Factory"]

    private let folder: String
    /// Not more than there are files.
    private let known = Mutex<[String: NamedZone]>([:])

    /// `folder` holds a file in TZif format (RFC 9636) for each zone.
    package init(folder: String) {
        self.folder = folder
    }

    /// The zone of that name, as in `Europe/Berlin`; nil when no zone has such a name. One that the machine does not
    /// know counts as UTC, as a machine that lost its tzdata must not lose devices.
    package func zone(named name: String) -> NamedZone? {
        guard Self.isName(name) else { return nil }
        if let zone = known.withLock({ $0[name] }) { return zone }
        guard let rules = rules(of: name) else { return NamedZone(name: name, rules: nil) }
        return known.withLock { known in
            if let zone = known[name] { return zone }
            let zone = NamedZone(name: name, rules: rules)
            known[name] = zone
            return zone
        }
    }

    /// Reads all files again, as after an update of tzdata. What cannot be read any more stays as it was.
    package func reread() {
        for (name, zone) in known.withLock(\.self) {
            if let rules = rules(of: name) { zone.follow(rules) }
        }
    }

    private func rules(of name: String) -> ZoneRules? {
        guard let file = FileHandle(forReadingAtPath: "\(folder)/\(name)") else { return nil }
        defer { try? file.close() }
        guard let data = try? file.read(upToCount: Self.fileLimit + 1), data.count <= Self.fileLimit else { return nil }
        return ZoneRules(file: Array(data))
    }

    /// Names come from strangers and become paths. `right/` counts leap seconds, which clocks here do not.
    private static func isName(_ name: String) -> Bool {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        return name.utf8.count <= nameLimit && !noZones.contains(name) && !["right", "posix"].contains(parts[0])
            && parts.allSatisfy { part in
                part.utf8.first.map { $0 > 0x40 } == true
                    && part.utf8.allSatisfy { byte in
                        switch byte {
                        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2B, 0x2D, 0x5F: true
                        default: false
                        }
                    }
            }
    }
}

/// A time zone by its IANA name. Two of one name are equal.
package final class NamedZone: Hashable, Sendable {
    package let name: String
    private let rules: Mutex<ZoneRules?>

    init(name: String, rules: ZoneRules?) {
        self.name = name
        self.rules = Mutex(rules)
    }

    /// Whether this machine knows what its clocks show.
    package var isKnown: Bool { rules.withLock { $0 != nil } }

    /// How far clocks there are ahead of UTC, in minutes.
    package func minutesAhead(at moment: Timestamp) -> Int {
        (rules.withLock { $0?.secondsAhead(at: moment.seconds) } ?? 0) / 60
    }

    func follow(_ rules: ZoneRules) {
        self.rules.withLock { $0 = rules }
    }

    package static func == (left: NamedZone, right: NamedZone) -> Bool { left.name == right.name }

    package func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
