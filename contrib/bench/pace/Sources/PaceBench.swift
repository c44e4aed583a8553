import Core
import Delivery
import Foundation
import Nostr
import Pipeline
import Push

/// Measures the cost of pacing: half a million devices with waiting events, and the writes to disk.
///
///     swift run -c release PaceBench [DEVICES] [FOLDER]
@main struct PaceBench {
    private static let start = Timestamp(milliseconds: 1_773_489_600_000)
    private static let pace = Pace(cooldown: .minutes(1), window: .seconds(30), dailyCap: 100)

    static func main() throws {
        let arguments = CommandLine.arguments.dropFirst()
        let count = arguments.first.flatMap { Int64($0) } ?? 500_000
        let folder = arguments.dropFirst().first ?? FileManager.default.temporaryDirectory.path
        timers(count)
        try disk(min(count, 100_000), folder: folder)
    }

    private static func event(_ number: Int64, _ turn: UInt64) -> EventID {
        EventID(Bytes32(words: (UInt64(bitPattern: number), turn, 3, 4)))
    }

    private static func match(_ number: Int64, _ turn: UInt64) -> PaceMatch {
        PaceMatch(
            event: event(number, turn),
            signal: .mention,
            mode: .alert,
            urgency: .normal,
            expiresAt: .epoch
        )
    }

    private static func account(_ number: Int64) -> PublicKey {
        PublicKey(Bytes32(words: (UInt64(bitPattern: number), 2, 3, 4)))
    }

    /// Only in memory. Every device got a push a moment ago, and one event waits for it.
    private static func timers(_ count: Int64) {
        let before = residentBytes()
        var pacer = Pacer()
        pacer.notice(start)
        let pushing = seconds {
            for number in 1...count {
                let device = DeviceID(rawValue: number)
                let now = start + .milliseconds(number / 10)
                _ = pacer.admit(match(number, 1), of: device, account(number), pace, at: now)
                pacer.release(.unknown, to: device, at: now)
                pacer.end(.unknown, of: device, counts: true, at: now)
                if number.isMultiple(of: 1000) { pacer.commit() }
            }
            pacer.commit()
        }
        let pushed = residentBytes()
        let holding = seconds {
            for number in 1...count {
                let now = start + .milliseconds(number / 10)
                _ = pacer.admit(match(number, 2), of: DeviceID(rawValue: number), account(number), pace, at: now)
                if number.isMultiple(of: 1000) { pacer.commit() }
            }
            pacer.commit()
        }
        let held = residentBytes()
        var released = 0
        var now = start + .minutes(1)
        let releasing = seconds {
            while released < Int(count) {
                let releases = pacer.takeDue(at: now, limit: 2000) { _, _ in pace }
                for release in releases { pacer.release(.unknown, to: release.device, at: now) }
                pacer.commit()
                released += releases.count
                if releases.isEmpty { now = max(now + .milliseconds(1), pacer.nextDue ?? now) }
            }
        }
        print("\(count) devices, an event waiting for each:")
        report("a push and its end", pushing / Double(count) * 1e6, "µs")
        report("a hold", holding / Double(count) * 1e6, "µs")
        report("a release", releasing / Double(count) * 1e6, "µs")
        report("a device that was pushed to", Double(pushed - before) / Double(count), "bytes")
        report("a device for which something waits", Double(held - before) / Double(count), "bytes")
        report("all of them", Double(held - before) / 1_048_576, "MiB")
    }

    /// On disk: holds in groups, each group in one transaction that is flushed, and then releases, which are deliveries
    /// too.
    private static func disk(_ count: Int64, folder: String) throws {
        let path = folder + "/pace-bench-\(ProcessInfo.processInfo.processIdentifier).sqlite"
        defer { for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + end) } }
        let outbox = try Outbox(path: path)
        let group: Int64 = 500
        let notification = Push.Notification(
            mode: .alert,
            signal: .mention,
            title: "Somebody mentioned you",
            body: String(repeating: "as they do every day, ", count: 10)
        )
        func rows(_ number: Int64) -> (PaceRow, HeldRow, HeldMember) {
            let device = DeviceID(rawValue: number)
            let row = PaceRow(device: device, pushedAt: start, dayOfPushes: 20_526, pushes: 1)
            let held = HeldRow(
                key: HeldKey(device: device, slot: 0),
                members: [0],
                account: account(number).bytes.array,
                event: event(number, 1).bytes.array,
                isMessage: false,
                hasOverflowed: false,
                signal: .mention,
                mode: .alert,
                urgency: .normal,
                count: 1,
                since: start,
                expiresAt: .epoch
            )
            let member = HeldMember(
                key: HeldMemberKey(device: device, number: 0),
                event: held.event,
                mode: .alert,
                expiresAt: .epoch,
                madeAt: 0,
                HeldNotification(notification)
            )
            return (row, held, member)
        }
        let holding = try seconds {
            for first in stride(from: Int64(1), through: count, by: Int64.Stride(group)) {
                var changes = PaceChanges()
                for number in first..<min(first + group, count + 1) {
                    let (row, held, member) = rows(number)
                    changes.rows.append(row)
                    changes.held.append(held)
                    changes.members.append(member)
                }
                try outbox.insert([], causes: changes.held.map(\.event), pace: changes) { _ in }
            }
        }
        let releasing = try seconds {
            for first in stride(from: Int64(1), through: count, by: Int64.Stride(group)) {
                var changes = PaceChanges()
                var deliveries: [Delivery] = []
                for number in first..<min(first + group, count + 1) {
                    let (row, held, member) = rows(number)
                    changes.rows.append(row)
                    changes.released.append(held.key)
                    changes.removed.append(member.key)
                    guard let notification = try outbox.heldNotification(member.key)?.notification else { continue }
                    deliveries.append(
                        Delivery(
                            id: withUnsafeBytes(of: UUID().uuid) { DeliveryID(version: 4, of: $0) },
                            device: row.device,
                            platform: "ios",
                            app: "default",
                            notification: notification,
                            acceptedAt: start
                        )
                    )
                }
                try outbox.insert(deliveries, causes: [], pace: changes) { _ in }
            }
        }
        print("\(count) on disk, \(group) a transaction:")
        report("durable holds", Double(count) / holding, "a second")
        report("durable releases", Double(count) / releasing, "a second")
    }

    private static func report(_ what: String, _ value: Double, _ unit: String) {
        let name = what + String(repeating: " ", count: max(1, 40 - what.count))
        print("  " + name + String(format: "%.2f", value) + " " + unit)
    }

    private static func seconds(_ body: () throws -> Void) rethrows -> Double {
        let clock = ContinuousClock()
        let spent = try clock.measure { try body() }.components
        return Double(spent.seconds) + Double(spent.attoseconds) / 1e18
    }

    /// The second field of `/proc/self/statm` counts pages of 4 KiB.
    private static func residentBytes() -> Int {
        let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        return (text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 4096
    }
}
