import Core
import Delivery
import Push

/// The devices of a run and the notifications to them.
package struct Population: Sendable {
    static let app = "default"

    package let devices: [ChaosDevice]
    package let deliveries: [Delivery]
    private let indices: [DeliveryID: Int]

    /// `now` is the courier's.
    package init(_ plan: ChaosPlan, now: Timestamp) {
        var random = SplitMix64(seed: plan.seed, for: "population")
        var devices: [ChaosDevice] = []
        var byTransport: [ChaosTransport: [Int]] = [:]
        for (index, transport) in plan.transports.enumerated() {
            let share =
                plan.deliveries / plan.transports.count + (index < plan.deliveries % plan.transports.count ? 1 : 0)
            for _ in 0..<max(1, share / plan.deliveriesPerDevice) {
                let dies = plan.weather == .chaos && Int.random(in: 0..<plan.devicesPerDeath, using: &random) == 0
                byTransport[transport, default: []].append(devices.count)
                devices.append(
                    ChaosDevice(
                        devices.count,
                        transport,
                        seed: plan.seed,
                        requestsBeforeDeath: dies ? Int.random(in: 0..<plan.deliveriesPerDevice, using: &random) : nil
                    )
                )
            }
        }
        // In turn, because events notify devices of all kinds: none comes after the others.
        deliveries = (0..<plan.deliveries).map { number in
            let own = byTransport[plan.transports[number % plan.transports.count], default: []]
            return Self.delivery(number, to: devices[own[number / plan.transports.count % own.count]], now, &random)
        }
        self.devices = devices
        indices = Dictionary(uniqueKeysWithValues: deliveries.enumerated().map { ($1.id, $0) })
    }

    /// Returns the index in `deliveries` of the one with that id.
    package func index(of delivery: DeliveryID) -> Int? { indices[delivery] }

    /// Devices count from 1 in their order.
    package func device(_ id: DeviceID) -> ChaosDevice? {
        let index = Int(id.rawValue) - 1
        return devices.indices.contains(index) ? devices[index] : nil
    }

    private static func delivery(
        _ number: Int,
        to device: ChaosDevice,
        _ now: Timestamp,
        _ random: inout SplitMix64
    ) -> Delivery {
        let words = (0..<Int.random(in: 1...120, using: &random)).map { _ in
            Self.words[Int.random(in: Self.words.indices, using: &random)]
        }
        return Delivery(
            id: id(&random),
            device: device.id,
            platform: device.transport.platform,
            app: app,
            notification: Notification(
                mode: .alert,
                signal: .mention,
                urgency: Urgency.allCases[Int.random(in: Urgency.allCases.indices, using: &random)],
                title: "Delivery \(number)",
                body: words.joined(separator: " "),
                thread: "chaos"
            ),
            acceptedAt: now
        )
    }

    private static func id(_ random: inout SplitMix64) -> DeliveryID {
        withUnsafeBytes(of: (random.next().bigEndian, random.next().bigEndian)) { DeliveryID(version: 4, of: $0) }
    }

    /// With letters of one to four bytes, and characters that JSON escapes.
    private static let words = [
        "push", "caf\u{e9}", "\u{6d88}\u{606f}", "\u{1f514}", "\"quoted\"", "back\\slash", "and/or", "wake",
        "\u{441}\u{43e}\u{43d}", "<b>",
    ]
}

/// The generator of Steele, Lea and Flood ("Fast splittable pseudorandom number generators", 2014): small, and the same
/// everywhere for the same seed.
package struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) {
        state = seed
    }

    /// Each `purpose` has its own generator: draws for one do not affect the others.
    package init(seed: UInt64, for purpose: String) {
        // FNV-1a: `Hasher` differs from run to run.
        let hash = purpose.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        self.init(seed: seed ^ hash)
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var word = state
        word = (word ^ (word >> 30)) &* 0xbf58_476d_1ce4_e5b9
        word = (word ^ (word >> 27)) &* 0x94d0_49bb_1331_11eb
        return word ^ (word >> 31)
    }
}
