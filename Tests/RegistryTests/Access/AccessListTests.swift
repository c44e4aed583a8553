import Core
import Nostr
import Testing
import TimeTestSupport

@testable import Registry

struct AccessListTests {
    private let one = PublicKey(Bytes32(repeating: 1))
    private let two = PublicKey(Bytes32(repeating: 2))

    private func rule(_ subject: AccessSubject, isBlock: Bool = true, until: Int64? = nil) -> AccessRule {
        AccessRule(subject, isBlock: isBlock, madeAt: Bench.time(), until: until.map { Bench.time($0) })
    }

    private func list(_ mode: AccessMode, at seconds: Int64 = 0, _ rules: AccessRule...) -> AccessList {
        AccessList(mode: mode, rules: rules, now: Bench.time(seconds))
    }

    @Test func openRouterAcceptsAllUnblockedKeys() {
        let list = list(.open, rule(.key(one)))
        #expect(list.refusal(ofRegistrationBy: two, for: two) == nil)
        #expect(
            list.refusal(ofRegistrationBy: one, for: two)?.description == "blocked: this router does not serve this key"
        )
        #expect(list.refusal(ofRegistrationBy: two, for: one) != nil)
    }

    @Test func allowlistRouterAcceptsAllowedKeys() {
        let list = list(.allowlist, rule(.key(one), isBlock: false))
        #expect(list.refusal(ofRegistrationBy: one, for: one) == nil)
        // A device key of a listed root, and the other way round.
        #expect(list.refusal(ofRegistrationBy: two, for: one) == nil)
        let refusal = list.refusal(ofRegistrationBy: two, for: two)
        #expect(refusal?.description == "blocked: only keys that this router's operator has listed may register here")
    }

    @Test func allowlistRouterAcceptsAllowedNetworks() {
        let list = list(.allowlist, rule(.key(one)))
        #expect(list.refusal(ofRegistrationBy: two, for: two, isListed: true) == nil)
        #expect(list.refusal(ofRegistrationBy: two, for: two, isListed: false) != nil)
        // A block of the key counts from everywhere.
        #expect(list.refusal(ofRegistrationBy: one, for: one, isListed: true) != nil)
    }

    @Test func blockOverridesAllow() {
        let list = list(.allowlist, rule(.key(one), isBlock: false), rule(.key(one)))
        #expect(list.isBlocked(one) && !list.isAllowed(one))
    }

    @Test func ruleExpires() {
        let rule = rule(.key(one), until: 10)
        #expect(list(.open, at: 9, rule).isBlocked(one) && list(.open, at: 9, rule).nextEnd == Bench.time(10))
        #expect(!list(.open, at: 10, rule).isBlocked(one) && list(.open, at: 10, rule).nextEnd == nil)
    }

    @Test func userOfABlockedInvitationIsBlocked() {
        let rules = [rule(.invitation("ab"))]
        let list = AccessList(rules: rules, invitees: ["ab": one], now: Bench.time())
        #expect(list.isBlocked(one) && list.isBlocked(invitation: "ab") && !list.isBlocked(invitation: "cd"))
    }

    @Test func subjectsRoundTrip() {
        for subject: AccessSubject in [.key(one), .network("10.0.0.0/8"), .invitation("ab"), .relay("*.example.com")] {
            #expect(AccessSubject(subject.kind, subject.text) == subject)
        }
        #expect(AccessSubject(.key, "no key") == nil)
    }
}
