import Nostr
import Testing

@testable import CarillonRouter

@Suite struct SilenceAdviceTests {
    private let alice = PublicKey(Bytes32(words: (2, 2, 2, 2)))

    private func text(_ change: (inout SilenceAdvice) -> Void) -> String {
        var advice = SilenceAdvice()
        change(&advice)
        return advice.lines.joined(separator: "\n")
    }

    @Test func saysSinceWhenItCouldBeKnown() {
        let text = text { advice in
            advice.traceBegan = 1_773_446_400_000
            advice.limits = "500000 entries and 7 days at most"
        }
        #expect(text.contains("goes back to 2026-03-14 00:00:00 UTC (500000 entries and 7 days at most)"))
        #expect(text.contains("never came") && text.contains("concerns nobody here"))
        #expect(text.contains("carillon devices list --account NPUB"))
    }

    @Test func knowsWhetherTheRecipientIsHere() {
        let absent = text { advice in
            advice.recipient = alice
            advice.devices = 0
        }
        #expect(absent.contains("the recipient has no device registered now"))
        #expect(absent.contains(NIP19.npub(alice)))
        let present = text { advice in
            advice.recipient = alice
            advice.devices = 2
        }
        #expect(present.contains("names the recipient in no p tag; 2 of their devices are registered"))
    }

    @Test func saysThatAnotherRecipientIsMeant() {
        let text = text { advice in
            advice.recipient = alice
            advice.devices = 1
            advice.isKnownOtherwise = true
        }
        #expect(text.contains("nothing is known for this recipient") && !text.contains("never came"))
    }

    @Test func aMissingTraceAndAnAcceptedEventAreSaid() {
        let text = text { advice in
            advice.traceFault = "the configuration switches it off (trace: off)"
            advice.wasAccepted = true
        }
        #expect(text.contains("The trace cannot tell: the configuration switches it off"))
        #expect(text.contains("It was accepted here"))
    }
}
