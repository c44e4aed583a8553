import Console
import Nostr
import Testing
import TimeTestSupport

@testable import CarillonRouter
@testable import Operations

@Suite struct NoDeliveryHintTests {
    private let alice = PublicKey(Bytes32(words: (2, 2, 2, 2)))

    private func text(_ change: (inout NoDeliveryHint) -> Void) -> String {
        var advice = NoDeliveryHint()
        change(&advice)
        return advice.lines.joined(separator: "\n")
    }

    /// Lists of possible reasons and commands have a code for each line.
    @Test func everyAdviceLineHasACode() {
        var advice = NoDeliveryHint(recipient: alice, devices: 2, firstRegistered: 1_773_446_400_000)
        advice.traceFault = "there is none"
        advice.isTraceMissing = true
        let sentences = advice.sentences
        #expect(sentences.map(\.words) == advice.lines)
        let codes = sentences.map(\.says.code)
        #expect(codes.starts(with: ["advice-unknown", "advice-no-trace", "advice-perhaps", "perhaps-never-came"]))
        #expect(codes.contains("perhaps-before") && Set(codes).count == codes.count)
        let before = sentences.first { $0.says.code == "perhaps-before" }
        #expect(before?.says.values == ["at": "2026-03-14T00:00:00.000Z"])
        let devices = sentences.first { $0.says.code == "more-devices" }
        #expect(devices?.says.values["command"]?.hasSuffix(NIP19.npub(alice)) == true)
    }

    @Test func adviceNamesTheTracesStart() {
        let text = text { advice in
            advice.traceBegan = 1_773_446_400_000
            advice.limits = "500000 entries and 7 days at most"
        }
        #expect(text.contains("goes back to 2026-03-14 00:00:00 UTC (500000 entries and 7 days at most)"))
        #expect(text.contains("never came") && text.contains("no recipient is registered here"))
        #expect(text.contains("carillon devices list --account NPUB"))
    }

    @Test func adviceNamesUnknownRecipients() {
        let absent = text { advice in
            advice.recipient = alice
            advice.devices = 0
        }
        #expect(absent.contains("the recipient has no device registered now"))
        #expect(absent.contains(NIP19.npub(alice)))
        let present = text { advice in
            advice.recipient = alice
            advice.devices = 2
            advice.firstRegistered = 1_773_446_400_000
        }
        #expect(present.contains("names the recipient in no p tag; 2 of their devices are registered"))
        #expect(present.contains("before the recipient's first device was registered, at 2026-03-14 00:00:00 UTC"))
        #expect(present.contains("no rule matches its kind") && absent.contains("no rule matches its kind"))
    }

    @Test func adviceNamesAnotherRecipient() {
        let text = text { advice in
            advice.recipient = alice
            advice.devices = 1
            advice.isKnownOtherwise = true
        }
        #expect(text.contains("there is no record for this recipient") && !text.contains("never came"))
    }

    @Test func silenceForAllRecipientsIsNotDeniedToOne() {
        let own = text { advice in
            advice.recipient = alice
            advice.devices = 1
            advice.isOfEverybody = true
        }
        #expect(own.contains("apply to all recipients") && !own.contains("p tag"))
        #expect(!own.contains("Without --recipient"))
        let others = text { advice in
            advice.recipient = alice
            advice.devices = 1
            advice.firstRegistered = 1_773_446_400_000
            advice.isKnownOtherwise = true
        }
        #expect(others.contains("Perhaps it names them in no p tag, or came before the recipient's first device"))
    }

    @Test func adviceNamesAMissingTraceAndAnAcceptedEvent() {
        let fault = text { $0.traceFault = "it is damaged" }
        #expect(fault.contains("The trace cannot tell: it is damaged.") && !fault.contains("holds nothing"))
        let off = text { $0.isTraced = false }
        #expect(off.contains("The trace cannot tell: the configuration switches it off (trace: off)."))
        #expect(!off.contains("no longer stored") && !off.contains("yet"))
        #expect(off.contains("removing trace: off from the configuration"))
        #expect(!fault.contains("trace: off"))
    }

    @Test func acceptedEventMatchedARecipient() {
        let anybody = text { advice in
            advice.wasAccepted = true
            advice.traceBegan = 1_773_446_400_000
        }
        #expect(anybody.contains("It was accepted here recently"))
        #expect(
            anybody.contains("Its history is no longer stored: the trace goes back to 2026-03-14 00:00:00 UTC.")
        )
        for words in ["never came", "no recipient is registered", "no rule", "came before", "Possible reasons"] {
            #expect(!anybody.contains(words))
        }
        let alices = text { advice in
            advice.wasAccepted = true
            advice.recipient = alice
            advice.devices = 1
        }
        #expect(alices.contains("names the recipient in no p tag"))
        #expect(!alices.contains("never came") && !alices.contains("no rule"))
    }

    @Test func waitingEventIsNotUnknown() {
        let text = text { advice in
            advice.wasAccepted = true
            advice.isTraced = false
            advice.waiting = ["for device 1, held: the device was notified a moment ago"]
        }
        #expect(
            text.hasPrefix("The only record of this event is that it waits\n  - for device 1, held: the device was")
        )
        #expect(
            ["There is no record", "It was accepted", "Possible reasons"].allSatisfy { !text.contains($0) }
        )
    }
}
