import Nostr
import PlatformTestSupport
import Push
import Storage
import Testing
import TimeTestSupport

@testable import Rules

/// Rules files as operators of other apps than social ones write them, with events as the NIPs show them.
@Suite struct DomainRulesTests {
    private static let seller = "32e1827635450ebb3c5a7d12c1f8e7b2b514439ac10a67eef3d9fd9c5c68e245"
    private static let recipient = Fixture.recipient.hex

    private func told(
        _ rules: String,
        _ kind: UInt16,
        _ tags: [[String]],
        content: String = "",
        by author: PublicKey = Fixture.author,
        language: String? = nil,
        platform: String = "ios",
        files: [String: String] = [:]
    ) throws -> (rule: String, signal: String, notification: Notification?) {
        let file = RulesFile(name: "rules.yaml", text: rules) { name throws(RulesFile.Unreadable) in
            guard let text = files[name] else { throw RulesFile.Unreadable("is missing") }
            return text
        }
        let book = try RuleBook(files: [file])
        var event = Fixture.event(kind: kind, content: content, tags: tags)
        event.pubkey = author
        var question = RuleQuestion(event: event, recipient: Fixture.recipient)
        question.platform = platform
        switch book.decide(question) {
        case .unmatched: return ("", "", nil)
        case .drop(let rule): return (rule.name, "", nil)
        case .notify(let rule, let signal):
            let input = RuleInput(event: event, recipient: Fixture.recipient, signal: signal, authorName: "Ann")
            let tag = language.flatMap { LanguageTag($0) }
            return (
                rule.name, signal.rawValue,
                rule.render(input, signal: signal, mode: .alert, language: tag, now: 1_708_000_600_000)
            )
        }
    }

    /// NIP-99: classified listings and comments on them, and NIP-15's orders in JSON.
    private static let marketplace = #"""
        version: 1
        rules:
          - name: sold
            match: { kinds: [30402], tags: { status: sold } }
            drop: true
          - name: bargain
            match: { kinds: [30402], tags: { price: { 1: { max: 100 }, 2: [USD, EUR] }, t: { any: [bicycle, book] } } }
            signal: offer
            title:
              default: "{{event.tag.title}}: {{number2(event.tag.price)}} {{event.tag.price.2}}"
              de: "{{event.tag.title}} für {{number2(event.tag.price)}} {{event.tag.price.2}}"
            body: "{{#each3(event.tags.t)}}#{{.}}{{^last()}} {{/last()}}{{/each3(event.tags.t)}}"
            url: "nostr:{{naddr(event.address)}}"
            thread: "{{event.address}}"
          - name: question
            match: { kinds: [1111], tags: { A: { matches: "^30402:" }, P: { recipient: true } } }
            signal: offer
            title: "{{author.name}} asks about your offer"
            body: "{{excerpt(event.content)}}"
            url: "nostr:{{naddr(event.tag.A)}}"
          - name: large-order
            match: { kinds: [30078], author: { file: shops.txt }, json: { order.total: { min: 100 }, order.paid: true } }
            signal: order
            title: "{{count(event.tags.item)}} items, {{number2(event.json.order.total)}} {{event.json.order.currency}}"
            apns: { badge: "{{round(event.json.order.total)}}" }
        """#

    @Test func marketplaceRulesCoverOffersQuestionsAndOrders() throws {
        let files = ["shops.txt": "# ours\n\(Self.seller)\n"]
        let seller = try #require(PublicKey(hex: Self.seller))
        func listing(_ price: [String], _ status: String = "active") -> [[String]] {
            [
                ["d", "bike-1"], ["title", "Bike"], ["price"] + price, ["status", status], ["t", "sport"],
                ["t", "bicycle"],
                ["t", "used"], ["t", "red"], ["p", Self.recipient],
            ]
        }
        let offer = try told(
            Self.marketplace,
            30402,
            listing(["99.5", "EUR"]),
            by: seller,
            language: "de",
            files: files
        )
        #expect(offer.rule == "bargain" && offer.signal == "offer")
        #expect(
            offer.notification?.title == "Bike für 99,50 EUR" && offer.notification?.body == "#sport #bicycle #used"
        )
        let address = EventAddress(kind: Kind(30402), pubkey: seller, identifier: "bike-1")
        #expect(offer.notification?.url == NIP19.naddr(address).map { "nostr:\($0)" })
        #expect(offer.notification?.thread == address.description)
        for other in [listing(["101", "EUR"]), listing(["5", "SATS"]), listing(["5"]), [["price", "5", "EUR"]]] {
            #expect(try told(Self.marketplace, 30402, other, files: files).rule.isEmpty)
        }
        #expect(try told(Self.marketplace, 30402, listing(["5", "EUR"], "sold"), files: files).rule == "sold")

        let asked = [["A", address.description], ["P", Self.recipient]]
        #expect(try told(Self.marketplace, 1111, asked, content: "Still there?", files: files).rule == "question")
        #expect(try told(Self.marketplace, 1111, [asked[0], ["P", Self.seller]], files: files).rule.isEmpty)
        #expect(try told(Self.marketplace, 1111, [["A", "30023:x:y"], asked[1]], files: files).rule.isEmpty)

        let order = #"{"order":{"total":1234.5,"currency":"EUR","paid":true}}"#
        let items = [["item", "1"], ["item", "2"]]
        let large = try told(Self.marketplace, 30078, items, content: order, by: seller, files: files)
        #expect(large.rule == "large-order" && large.notification?.title == "2 items, 1,234.50 EUR")
        #expect(large.notification?.native["ios"] == #"{"badge":1235}"#)
        #expect(try told(Self.marketplace, 30078, items, content: order, files: files).rule.isEmpty)
        let unpaid = order.replacing("true", with: "false")
        #expect(try told(Self.marketplace, 30078, items, content: unpaid, by: seller, files: files).rule.isEmpty)
    }

    /// NIP-53: live streams name their participants with roles, and are edited while they run.
    private static let streams = #"""
        version: 1
        rules:
          - name: stage
            match: { kinds: [30311], tags: { status: live, p: { recipient: true, 3: [Host, Speaker] } } }
            signal: live
            urgency: high
            title: "You are on stage: {{event.tag.title}}"
          - name: crowd
            match: { kinds: [30311], platform: [ios, android], tags: { status: live, current_participants: { min: 100 } } }
            signal: live
            title: "{{event.tag.title}} is live"
            body: "{{number(event.tag.current_participants)}} are watching since {{since(event.tag.starts)}}"
            thread: "{{event.address}}"
            collapse: "{{event.address}}"
          - name: stream
            match: { kinds: [30311] }
            drop: true
        """#

    @Test func liveStreamRulesCoverParticipants() throws {
        func stream(_ role: String, _ watching: String, status: String = "live") -> [[String]] {
            [
                ["d", "demo"], ["title", "Demo"], ["status", status], ["starts", "1708000000"],
                ["current_participants", watching], ["p", Self.seller, "wss://one.example/", "Host", "proof"],
                ["p", Self.recipient, "", role],
            ]
        }
        #expect(try told(Self.streams, 30311, stream("Speaker", "2")).rule == "stage")
        let crowd = try told(Self.streams, 30311, stream("Participant", "1200"))
        #expect(crowd.rule == "crowd" && crowd.notification?.body == "1,200 are watching since 10m")
        #expect(crowd.notification?.collapseKey == "30311:\(Fixture.author.hex):demo")
        #expect(try told(Self.streams, 30311, stream("Participant", "1200"), platform: "web").rule == "stream")
        #expect(try told(Self.streams, 30311, stream("Participant", "99")).rule == "stream")
        #expect(try told(Self.streams, 30311, stream("Host", "1200", status: "ended")).rule == "stream")
    }

    /// NIP-47: a request to a wallet service is encrypted, but its author, method of encryption and expiration are not.
    private static let wallet = #"""
        version: 1
        rules:
          - name: from-our-apps
            match: { kinds: [23194], author: { file: connections.txt }, tags: { encryption: [nip44_v2], expiration: true } }
            signal: wallet
            urgency: high
            title: "{{author.name}} asks for a payment"
            url: "wallet://request/{{nevent(event.id)}}"
          - name: old-encryption
            match: { kinds: [23194], author: { file: connections.txt } }
            signal: wallet
            mode: nudge
          - name: stranger
            match: { kinds: [23194] }
            drop: true
          - name: paid
            match: { kinds: [9735], tags: { amount: { min: 1000000 } } }
            signal: zap
            title: { default: "+{{number(sats(event.tag.amount))}} sats", de: "+{{number(sats(event.tag.amount))}} Sats" }
        """#

    @Test func walletRulesCoverConnections() throws {
        let files = ["connections.txt": NIP19.npub(Fixture.sender) + " # phone"]
        let tags = [["p", Self.recipient], ["encryption", "nip44_v2"], ["expiration", "1708000900"]]
        let ours = try told(Self.wallet, 23194, tags, by: Fixture.sender, files: files)
        #expect(ours.rule == "from-our-apps" && ours.notification?.title == "Ann asks for a payment")
        #expect(try told(Self.wallet, 23194, [tags[0]], by: Fixture.sender, files: files).rule == "old-encryption")
        #expect(try told(Self.wallet, 23194, tags, files: files).rule == "stranger")
        let paid = try told(Self.wallet, 9735, [["amount", "1234567891"]], language: "de-AT", files: files)
        #expect(paid.notification?.title == "+1.234.567,891 Sats")
        #expect(try told(Self.wallet, 9735, [["amount", "999999"]], files: files).rule.isEmpty)
    }

    /// NIP-34: patches, pull requests, issues and their status.
    private static let git = #"""
        version: 1
        mentions: names
        rules:
          - name: series
            match: { kinds: [1617], tags: { t: { any: [root, root-revision] }, a: { matches: "^30617:.*:carillon$" } } }
            signal: patch
            title: "Patch for carillon by {{author.name}}"
            body: "{{event.subject}}{{^event.subject}}{{excerpt(event.content)}}{{/event.subject}}"
            thread: "{{event.tag.a}}"
            url: "nostr:{{nevent(event.id)}}"
          - name: further-patch
            match: { kinds: [1617], tags: { t: false } }
            drop: true
          - name: issue
            match: { kinds: [1621] }
            signal: issue
            title: "{{event.subject}}"
            subtitle: "{{#event.tags.t}}[{{.}}]{{/event.tags.t}}"
            body: "{{excerpt(event.content)}}"
          - name: merged
            match: { kinds: [1631], p: { file: maintainers.txt } }
            signal: patch
            title: "{{author.name}} merged it"
        """#

    @Test func gitRulesCoverPatchesAndIssues() throws {
        let files = ["maintainers.txt": Self.seller]
        let repository = ["a", "30617:\(Self.seller):carillon"]
        let first = [repository, ["t", "root"], ["p", Self.recipient]]
        let patch = try told(Self.git, 1617, first, content: "From 1234 Mon Sep 17\nSubject: fix", files: files)
        #expect(patch.rule == "series" && patch.notification?.body == "From 1234 Mon Sep 17\nSubject: fix")
        #expect(patch.notification?.thread == repository[1])
        #expect(try told(Self.git, 1617, [repository], files: files).rule == "further-patch")
        #expect(try told(Self.git, 1617, [["a", "30617:x:other"], ["t", "root"]], files: files).rule.isEmpty)
        let issue = try told(
            Self.git,
            1621,
            [repository, ["subject", "It hangs"], ["t", "bug"], ["t", "relay"]],
            content: "nostr:\(NIP19.npub(Fixture.recipient)) please look",
            files: files
        )
        #expect(issue.notification?.title == "It hangs" && issue.notification?.subtitle == "[bug][relay]")
        #expect(issue.notification?.body == "@\(Fixture.recipient.hex.prefix(8))... please look")
        #expect(try told(Self.git, 1631, [["p", Self.seller]], files: files).rule == "merged")
        #expect(try told(Self.git, 1631, [["p", Self.recipient]], files: files).rule.isEmpty)
    }
}
