import CarillonABI
import PluginKit
import PluginTestSupport
import Testing

/// A payload is built again only when needed, and a remembered one equals the one that would be built.
struct RepeatedPayloadTests {
    private final class Maker {
        private let payloads = RepeatedPayload()
        private(set) var made = 0
        /// The number of times that the id occurs in a payload.
        var ids = 1

        func payload(of sample: SampleNotification) -> String {
            sample.withABI { pointer in
                let notification = Notification(pointer)
                let bytes = payloads.payload(of: notification) {
                    made += 1
                    return expected(sample)
                }
                return String(decoding: bytes, as: UTF8.self)
            }
        }

        func expected(_ sample: SampleNotification) -> [UInt8] {
            let ids = Array(repeating: sample.id, count: ids).joined(separator: ",")
            let texts = [sample.title, sample.body, sample.data, "\(sample.count)", "\(sample.expiresAt)"]
            return Array((texts + sample.actions.map(\.label) + [ids, "end"]).joined(separator: "|").utf8)
        }
    }

    private func sample(_ number: Int) -> SampleNotification {
        var sample = SampleNotification.alert(title: "Bob", body: "A note that speaks of many")
        sample.id = "6c0f5f4e-9f4e-4c57-8c2e-0000000000" + (number < 10 ? "0" : "") + "\(number)"
        sample.data = #"{"event":"00ff"}"#
        sample.actions = [.init(id: "a", label: "Answer")]
        return sample
    }

    @Test(arguments: [0, 1]) func sharedPayloadIsBuiltTwice(ids: Int) {
        let maker = Maker()
        maker.ids = ids
        for number in 0..<50 {
            let sample = sample(number)
            #expect(maker.payload(of: sample) == String(decoding: maker.expected(sample), as: UTF8.self))
        }
        #expect(maker.made == 2)
    }

    @Test func differentPayloadIsRebuilt() {
        let changes: [(inout SampleNotification) -> Void] = [
            { $0.title = "Bab" }, { $0.body = "B note that speaks of many" }, { $0.data = #"{"event":"10ff"}"# },
            { $0.count = 2 }, { $0.expiresAt = 7 }, { $0.actions[0].label = "Answar" }, { $0.actions = [] },
            { $0.native = "{}" }, { $0.urgency = .CARILLON_HIGH }, { $0.mode = .CARILLON_NUDGE },
            // The same bytes, divided in another way.
            { ($0.title, $0.body) = ("BobA", " note that speaks of many") },
        ]
        for change in changes {
            let maker = Maker()
            var other = sample(9)
            change(&other)
            for number in 0..<3 { _ = maker.payload(of: sample(number)) }
            #expect(maker.made == 2)
            for _ in 0..<2 {
                #expect(maker.payload(of: other) == String(decoding: maker.expected(other), as: UTF8.self))
            }
            #expect(maker.made >= 3)
            let again = sample(5)
            #expect(maker.payload(of: again) == String(decoding: maker.expected(again), as: UTF8.self))
        }
    }

    @Test func duplicateOrInvalidIDIsNotInserted() {
        let maker = Maker()
        maker.ids = 2
        for number in 0..<5 {
            let sample = sample(number)
            #expect(maker.payload(of: sample) == String(decoding: maker.expected(sample), as: UTF8.self))
        }
        #expect(maker.made == 5)
        var odd = sample(1)
        odd.id = "\"quoted\""
        for _ in 0..<3 { #expect(maker.payload(of: odd) == String(decoding: maker.expected(odd), as: UTF8.self)) }
        #expect(maker.made == 8)
    }

    @Test func thrownErrorIsNotCached() {
        struct Refusal: Error {}
        let payloads = RepeatedPayload()
        let sample = sample(1)
        for _ in 0..<3 {
            sample.withABI { pointer in
                let notification = Notification(pointer)
                #expect(throws: Refusal.self) {
                    try payloads.payload(of: notification) { () throws(Refusal) in throw Refusal() }
                }
            }
        }
    }
}
