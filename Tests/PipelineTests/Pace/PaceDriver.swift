import Core
import DeliveryTestSupport
import Nostr
import Push
import Registry

@testable import Pipeline

/// A pacer with its own clock: a test drives it and reads when each push was sent, and with how many events.
struct PaceDriver {
    struct Push: Equatable {
        /// In seconds since the start.
        let at: Int64
        let count: UInt32
        var device: Int64 = 1
    }

    /// 2026-03-14 12:00 UTC.
    static let start = Timestamp(seconds: 1_773_489_600)

    var pacer = Pacer()
    /// By device; others have `pace`.
    var paces: [Int64: Pace] = [:]
    var pace = Pace(cooldown: .minutes(1), window: .seconds(30), dailyCap: 100)
    private(set) var now = Self.start
    private(set) var pushes: [Push] = []
    private(set) var held: [HoldReason] = []
    /// Results of the next deliveries; the remaining ones are delivered.
    var outcomes: [Bool?] = []
    /// How long a push service takes to answer.
    var latency: Duration = .zero
    /// Responses in transit, in order.
    private var answers: [(at: Timestamp, device: DeviceID, delivery: DeliveryID, isDelivered: Bool)] = []
    private var number: UInt8 = 0
    private(set) var underWay: [(device: DeviceID, delivery: DeliveryID)] = []

    init(pace: Pace? = nil) {
        if let pace { self.pace = pace }
        pacer.notice(now)
    }

    private func pace(of device: DeviceID) -> Pace { paces[device.rawValue] ?? pace }

    private var seconds: Int64 { (now - Self.start).seconds }

    /// Advances the time to that many seconds after the start; timers fire at their due time.
    mutating func go(to seconds: Double) {
        let end = Self.start + .seconds(seconds)
        while let due = [pacer.nextDue, answers.first?.at].compactMap(\.self).min(), due <= end {
            now = max(now, due)
            work()
        }
        now = max(now, end)
        work()
    }

    /// Sets the clock without time passing.
    mutating func setClock(to seconds: Double) {
        now = Self.start + .seconds(seconds)
        work()
    }

    private mutating func work() {
        pacer.notice(now)
        while let answer = answers.first, answer.at <= now {
            answers.removeFirst()
            pacer.end(answer.delivery, of: answer.device, counts: answer.isDelivered, at: now)
        }
        for release in pacer.takeDue(at: now, pace: { [paces, pace] device, _ in paces[device.rawValue] ?? pace }) {
            push(release.device, count: release.groups.reduce(0) { $0 + $1.count })
        }
        pacer.commit()
    }

    mutating func match(_ signal: Signal = .mention, device: Int64 = 1, expiresAt: Timestamp = .epoch) {
        number &+= 1
        let match = PaceMatch(
            event: EventID(Bytes32(repeating: number)),
            signal: signal,
            mode: .alert,
            urgency: .normal,
            expiresAt: expiresAt
        )
        let device = DeviceID(rawValue: device)
        let account = PublicKey(Bytes32(repeating: UInt8(truncatingIfNeeded: device.rawValue)))
        switch pacer.admit(match, of: device, account, pace(of: device), at: now) {
        case .held(let reason, _): held.append(reason)
        case .goes(let waited): push(device, count: waited.reduce(1) { $0 + $1.count })
        }
        pacer.commit()
    }

    private mutating func push(_ device: DeviceID, count: UInt32) {
        let delivery: DeliveryID = "\(device.rawValue)-\(pushes.count)"
        pushes.append(Push(at: seconds, count: count, device: device.rawValue))
        guard pace(of: device).isGathering else { return }
        pacer.release(delivery, to: device, at: now)
        switch outcomes.isEmpty ? true : outcomes.removeFirst() {
        case let isDelivered? where latency > .zero: answers.append((now + latency, device, delivery, isDelivered))
        case let isDelivered?: pacer.end(delivery, of: device, counts: isDelivered, at: now)
        case nil: underWay.append((device, delivery))
        }
    }

    /// Makes the oldest delivery in progress stop blocking others, as the courier does.
    mutating func stopBlocking() {
        guard let (device, delivery) = underWay.first else { return }
        underWay.removeFirst()
        pacer.stopBlocking(delivery, of: device, at: now)
        work()
    }

    /// Completes the oldest delivery in progress.
    mutating func end(isDelivered: Bool) {
        guard !underWay.isEmpty else { return }
        let (device, delivery) = underWay.removeFirst()
        pacer.end(delivery, of: device, counts: isDelivered, at: now)
        work()
    }
}

extension Bytes32 {
    init(repeating byte: UInt8) {
        let word = UInt64(byte) * 0x0101_0101_0101_0101
        self.init(words: (word, word, word, word))
    }
}
