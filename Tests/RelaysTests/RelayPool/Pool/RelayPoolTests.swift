import Core
import HTTPClient
import Nostr
import Testing

@testable import Relays

@Suite(.timeLimit(.minutes(1)))
struct RelayPoolTests {
    private func url(_ port: Int, _ path: String = "") throws -> RelayURL {
        try #require(RelayURL("ws://127.0.0.1:\(port)\(path)"))
    }

    @Test func allKeysOfARelayShareOneConnection() async throws {
        var relay = try await ScriptedRelay { RelayScript.answer($0) }
        let test = try TestPool()
        for spelling in ["", "/", "#users", "//"] { try test.watch(url(relay.port, spelling)) }
        #expect(await relay.next() == .connected)
        #expect(await relay.nextRequest() != nil)
        await test.wait(for: try url(relay.port)) { $0?.keys == 4 }
        #expect(test.pool.status.count == 1)
        await test.pool.shutdown()
        while let received = await relay.next(), received != .closed(1000) { #expect(received != .connected) }
        try await relay.close()
    }

    @Test func eventsComeToTheDelegate() async throws {
        var relay = try await ScriptedRelay { RelayScript.answer($0) }
        let test = try TestPool()
        let url = try url(relay.port)
        let key = try test.watch(url)
        var subscription = ""
        while let request = await relay.nextRequest() {
            // New events are requested with a limit of one; the end of stored events has been sent by then.
            guard request.filters.contains(where: { $0.limit == 1 && $0.tags["p"]?.contains(key.hex) == true }) else {
                continue
            }
            subscription = request.subscription
            break
        }
        let events = try (0..<3).map { try test.event(naming: key, "\($0)") }
        for event in events { try await relay.send(RelayScript.event(event, on: subscription)) }
        #expect(await test.delegate.ids(3) == events.map(\.id))
        await test.pool.shutdown()
        try await relay.close()
    }

    @Test func changedSubscriptionUsesANewConnection() async throws {
        var relay = try await ScriptedRelay { RelayScript.answer($0) }
        let test = try TestPool { $0.addressedKinds = [.textNote] }
        let key = try test.watch(url(relay.port))
        func isLive(_ filter: Filter, _ kinds: Set<Kind>) -> Bool {
            filter.limit == 1 && filter.tags["p"]?.contains(key.hex) == true && filter.kinds == kinds.union([.deletion])
        }
        while let request = await relay.nextRequest(), !request.filters.contains(where: { isLive($0, [.textNote]) }) {}
        test.pool.ask(for: RequestedKinds(addressedKinds: [.textNote]))
        test.pool.ask(for: RequestedKinds(addressedKinds: [.reaction]))
        while let received = await relay.next(), received != .connected {}
        while let request = await relay.nextRequest() {
            #expect(!request.filters.contains { isLive($0, [.textNote]) })
            if request.filters.contains(where: { isLive($0, [.reaction]) }) { break }
        }
        await test.pool.shutdown()
        try await relay.close()
    }

    /// A reload causes both: it adds a filter that needs lists, and the next event requests one.
    @Test func relayServesRequestsDuringAReconnect() async throws {
        let relay = try await ScriptedRelay { RelayScript.answer($0) }
        let test = try TestPool { $0.addressedKinds = [.textNote] }
        let url = try url(relay.port)
        test.pool.keep([url])
        try test.watch(url)
        #expect(await test.fetch([Filter(kinds: [.profile])], from: [url]))
        for round in 0..<40 {
            test.pool.ask(for: RequestedKinds(addressedKinds: [round.isMultiple(of: 2) ? .reaction : .textNote]))
            // Most rounds hit the moment between the connections.
            for _ in 0..<10_000 {
                guard test.pool.status.first?.state == .connected else { break }
                await Task.yield()
            }
            #expect(await test.fetch([Filter(kinds: [.profile])]), "round \(round)")
        }
        await test.pool.shutdown()
        try await relay.close()
    }

    @Test func lostConnectionIsReopened() async throws {
        var relay = try await ScriptedRelay { RelayScript.answer($0) }
        let test = try TestPool()
        try test.watch(url(relay.port))
        for _ in 0..<3 {
            #expect(await relay.nextRequest() != nil)
            try await relay.hangUp()
            while let received = await relay.next(), received != .connected {}
        }
        #expect(await relay.nextRequest() != nil)
        await test.pool.shutdown()
        try await relay.close()
    }

    @Test func unneededRelayIsDisconnectedAndForgotten() async throws {
        var relay = try await ScriptedRelay { RelayScript.answer($0) }
        let test = try TestPool()
        let url = try url(relay.port)
        let keys = try (0..<2).map { _ in try test.watch(url) }
        #expect(await relay.nextRequest() != nil)
        test.pool.update(url, [.remove(keys[0])], isOperators: false)
        await test.wait(for: url) { $0?.keys == 1 }
        #expect(test.pool.status.map(\.state) == [.connected])
        test.pool.update(url, [.remove(keys[1])], isOperators: false)
        while let received = await relay.next(), received != .closed(1000) {}
        await test.wait(for: url) { $0 == nil }
        test.pool.update(url, [.remove(keys[1])], isOperators: false)
        #expect(test.pool.status.isEmpty)
        await test.pool.shutdown()
        try await relay.close()
    }

    @Test func keptRelaysStayConnected() async throws {
        var one = try await ScriptedRelay { RelayScript.answer($0) }
        var other = try await ScriptedRelay { RelayScript.answer($0) }
        let test = try TestPool { $0.allowPrivate = [] }
        test.pool.keep([try url(one.port)])
        #expect(await one.next() == .connected)
        // Registrations and remote signing for our own key.
        let request = await one.nextRequest()
        #expect(request?.filters.contains { $0.tags["d"] == [test.identity.publicKey.hex] } == true)
        #expect(request?.filters.contains { $0.tags["p"] == [test.identity.publicKey.hex] } == true)
        test.pool.keep([try url(other.port)])
        #expect(await other.next() == .connected)
        while let received = await one.next(), received != .closed(1000) {}
        await test.wait(for: try url(one.port)) { $0 == nil }
        #expect(test.pool.status.map(\.url) == [try url(other.port)])
        await test.pool.shutdown()
        try await one.close()
        try await other.close()
    }

    @Test func usersRelaysAtPrivateAddressesAreNotConnectedTo() async throws {
        var relay = try await ScriptedRelay()
        let test = try TestPool { configuration in
            configuration.allowPrivate = []
            configuration.limits.publishing = .milliseconds(20)
        }
        let url = try url(relay.port)
        try test.watch(url)
        await test.wait(for: url) { $0?.lastFailure == .forbiddenAddress }
        #expect(await test.publish(try test.event(naming: test.identity.publicKey), to: [url]) == [url: .unanswered])
        #expect(test.http.requests.allSatisfy { $0.untrustedURL })
        try test.watch(url, isOperators: true)
        #expect(await relay.next() == .connected)
        #expect(test.pool.status.first?.isOperators == true)
        await test.pool.shutdown()
        try await relay.close()
    }

    @Test func theInformationDocumentIsReadBeforeAnythingIsAskedFor() async throws {
        var relay = try await ScriptedRelay(greeting: [#"["AUTH","a challenge"]"#]) { RelayScript.answer($0) }
        let http = StubHTTP(document: #"{"limitation":{"max_subscriptions":5}}"#, holds: true)
        let test = try TestPool(http: http)
        try test.watch(url(relay.port, "/inbox"))
        #expect(await relay.next() == .connected)
        await test.wait(for: try url(relay.port, "/inbox")) { $0?.state == .connected }
        #expect(test.pool.status.first?.requestsSent == 0)
        http.release()
        #expect(await relay.nextRequest() != nil)
        #expect(http.requests.map(\.url) == ["http://127.0.0.1:\(relay.port)/inbox"])
        #expect(http.requests.first?.headers == [HTTPField("accept", "application/nostr+json")])
        #expect(http.requests.first?.untrustedURL == true)
        await test.pool.shutdown()
        try await relay.close()
    }

    @Test func publishingReportsEachRelaysResponse() async throws {
        let refusing = try await ScriptedRelay { text in
            RelayScript.answer(text).map { $0.replacing("true,\"\"", with: "false,\"blocked: not you\"") }
        }
        let accepting = try await ScriptedRelay { RelayScript.answer($0) }
        let test = try TestPool()
        let relays = try [refusing.port, accepting.port].map { try url($0) }
        let results = await test.publish(try test.event(naming: test.identity.publicKey), to: relays)
        #expect(results == [relays[0]: .refused(message: "blocked: not you"), relays[1]: .accepted])
        #expect(await test.publish(try test.event(naming: test.identity.publicKey), to: []) == [:])
        await test.pool.shutdown()
        for relay in [refusing, accepting] { try await relay.close() }
    }

    @Test func publishingEndsWithoutAnAnswer() async throws {
        let deaf = try await ScriptedRelay()
        let test = try TestPool { $0.limits.publishing = .milliseconds(50) }
        let relays = [try url(deaf.port), try #require(RelayURL("ws://127.0.0.1:1"))]
        let results = await test.publish(try test.event(naming: test.identity.publicKey), to: relays)
        #expect(results == [relays[0]: .unanswered, relays[1]: .unanswered])
        await test.pool.shutdown()
        try await deaf.close()
    }

    @Test func fetchedEventsAreHandedOverBeforeTheEnd() async throws {
        let test = try TestPool()
        let events = try (0..<3).map { try test.event(naming: test.identity.publicKey, "\($0)") }
        var relay = try await ScriptedRelay { text in RelayScript.answer(text, events: events) }
        let url = try url(relay.port)
        #expect(await test.fetch([Filter(ids: Set(events.map(\.id)))], from: [url]))
        // It is already there, so this does not wait.
        #expect(await test.delegate.ids(3) == events.map(\.id))
        #expect(await relay.nextRequest()?.filters == [Filter(ids: Set(events.map(\.id)))])
        await test.pool.shutdown()
        try await relay.close()
    }

    @Test func aFetchEndsWithoutAnyRelayAndWhenTimeIsUp() async throws {
        let deaf = try await ScriptedRelay()
        let test = try TestPool()
        await test.fetch([Filter(kinds: [.profile])])
        #expect(await !test.fetch([Filter(kinds: [.profile])], from: [try url(deaf.port)], within: .milliseconds(20)))
        await test.pool.shutdown()
        await test.fetch([Filter(kinds: [.profile])], from: [try url(deaf.port)])
        try await deaf.close()
    }

    @Test func readingPausesWhileTooMuchIsInProgress() async throws {
        let delegate = RecordingDelegate(holds: true)
        let test = try TestPool(delegate: delegate) { $0.limits.eventsInWork = 5 }
        let event = try test.event(naming: test.identity.publicKey, String(repeating: "a", count: 60_000))
        let relay = try await ScriptedRelay { text in
            RelayScript.answer(text, events: Array(repeating: event, count: 100))
        }
        let url = try url(relay.port)
        test.pool.fetch([Filter(ids: [event.id])], from: [url], within: .minutes(1)) { _ in }
        var batches = delegate.batches.makeAsyncIterator()
        var first = 0
        while first < 5, let batch = await batches.next() { first += batch.events.count }
        // At most the events that one read brought beyond the limit.
        #expect(first < 20)
        delegate.release()
        while first < 100, let batch = await batches.next() { first += batch.events.count }
        #expect(first == 100)
        await test.pool.shutdown()
        try await relay.close()
    }

    @Test func relayThatSendsInvalidMessagesIsDisconnected() async throws {
        let relay = try await ScriptedRelay(greeting: Array(repeating: "[nonsense", count: 100)) {
            RelayScript.answer($0)
        }
        let test = try TestPool { $0.pauses.first = .minutes(1) }
        let url = try url(relay.port)
        try test.watch(url)
        await test.wait(for: url) { $0?.lastFailure == .protocolError }
        await test.pool.shutdown()
        try await relay.close()
    }

    @Test func relayThatFloodsIsDisconnected() async throws {
        let talk = [#"["NOTICE","hello"]"#, #"["CLOSED","nobodys","error: no"]"#, #"["EOSE","nobodys"]"#]
        let relay = try await ScriptedRelay(greeting: (0..<2_000).map { talk[$0 % talk.count] }) {
            RelayScript.answer($0)
        }
        let test = try TestPool { $0.pauses.first = .minutes(1) }
        let url = try url(relay.port)
        try test.watch(url)
        await test.wait(for: url) { $0?.lastFailure == .protocolError }
        await test.pool.shutdown()
        try await relay.close()
    }

    @Test func unknownMessagesAreNotViolations() async throws {
        let unknown = Array(repeating: #"["COUNT","a",{}]"#, count: 200)
        let test = try TestPool()
        let event = try test.event(naming: test.identity.publicKey)
        let relay = try await ScriptedRelay(greeting: unknown) { RelayScript.answer($0) }
        let url = try url(relay.port)
        #expect(await test.publish(event, to: [url]) == [url: .accepted])
        await test.pool.shutdown()
        try await relay.close()
    }

    @Test func slowRelayDelaysUsersRelaysButNotTheOperators() async throws {
        let silent = try await BareServer()
        var users = try await ScriptedRelay { RelayScript.answer($0) }
        var operators = try await ScriptedRelay { RelayScript.answer($0) }
        let test = try TestPool { configuration in
            configuration.limits.opening = 1
            configuration.limits.handshake = .milliseconds(200)
            configuration.pauses.failuresOfUnknown = 1_000
        }
        try test.watch(url(silent.port))
        await test.wait(for: try url(silent.port)) { $0?.state == .connecting }
        try test.watch(url(users.port))
        test.pool.keep([try url(operators.port)])
        #expect(await operators.next() == .connected)
        #expect(await users.next() == .connected)
        // The place is passed on before the failure is reported.
        await test.wait(for: try url(silent.port)) { $0?.lastFailure == .timeout }
        await test.pool.shutdown()
        try await silent.close()
        try await users.close()
        try await operators.close()
    }

    @Test func relayThatServesItsDocumentSlowlyKeepsItsSlot() async throws {
        var one = try await ScriptedRelay { RelayScript.answer($0) }
        var other = try await ScriptedRelay { RelayScript.answer($0) }
        let http = StubHTTP(document: "{}", holds: true)
        let test = try TestPool(http: http) { $0.limits.opening = 1 }
        try test.watch(url(one.port))
        #expect(await one.next() == .connected)
        await test.wait(for: try url(one.port)) { $0?.state == .connected }
        try test.watch(url(other.port))
        await test.wait(for: try url(other.port)) { status in
            if case .waiting = status?.state { true } else { false }
        }
        #expect(http.requests.count == 1)
        http.release()
        #expect(await other.next() == .connected)
        #expect(http.requests.count == 2)
        await test.pool.shutdown()
        for relay in [one, other] { try await relay.close() }
    }

    @Test func configuredRelayMayBePrivateEvenIfUsersNameIt() async throws {
        let relay = try await ScriptedRelay { RelayScript.answer($0) }
        let url = try url(relay.port)
        let test = try TestPool { configuration in
            configuration.allowPrivate = []
            configuration.operators = [url]
            configuration.maxRelays = 0
        }
        let event = try test.event(naming: test.identity.publicKey)
        #expect(await test.publish(event, to: [url]) == [url: .accepted])
        try test.watch(url, isOperators: false)
        await test.wait(for: url) { $0?.keys == 1 && $0?.state == .connected }
        #expect(test.pool.status.first?.isOperators == true)
        await test.pool.shutdown()
        try await relay.close()
    }

    @Test func shutdownTakesAtMostTwoSeconds() {
        let limits = ConnectionLimits()
        #expect(limits.settling + limits.leaving <= .seconds(2))
    }

    @Test func usersCannotMakeUsConnectEverywhere() async throws {
        let test = try TestPool { configuration in
            configuration.maxRelays = 2
            configuration.limits.publishing = .milliseconds(20)
        }
        let relays = try (1...4).map { try #require(RelayURL("ws://127.0.0.\($0):1")) }
        for relay in relays.prefix(3) { try test.watch(relay) }
        test.pool.keep([relays[3]])
        #expect(test.pool.status.map(\.url) == [relays[0], relays[1], relays[3]])
        let event = try test.event(naming: test.identity.publicKey)
        #expect(await test.publish(event, to: [relays[2]]) == [relays[2]: .unanswered])
        await test.pool.shutdown()
    }

    @Test func shutdownEndsWaitsAndPreventsConnections() async throws {
        let deaf = try await ScriptedRelay()
        let test = try TestPool { $0.limits.publishing = .minutes(1) }
        let url = try url(deaf.port)
        let event = try test.event(naming: test.identity.publicKey)
        async let result = test.publish(event, to: [url])
        await test.wait(for: url) { $0?.state == .connected }
        await test.pool.shutdown()
        #expect(await result == [url: .unanswered])
        #expect(await test.publish(event, to: [url]) == [url: .unanswered])
        try test.watch(url)
        test.pool.keep([url])
        #expect(test.pool.status.isEmpty)
        await test.pool.shutdown()
        try await deaf.close()
    }

    @Test func relaysComeAndGoFromManyThreads() async throws {
        var relay = try await ScriptedRelay { RelayScript.answer($0) }
        let test = try TestPool { $0.limits.idle = .zero }
        let url = try url(relay.port)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<50 {
                        let key = try test.watch(url)
                        await Task.yield()
                        test.pool.update(url, [.remove(key)], isOperators: false)
                    }
                }
            }
            try await group.waitForAll()
        }
        await test.wait(for: url) { $0 == nil }
        let key = try test.watch(url)
        await test.wait(for: url) { $0?.state == .connected }
        #expect(test.pool.status.map(\.keys) == [1])
        while let request = await relay.nextRequest() {
            if request.filters.contains(where: { $0.tags["p"] == [key.hex] }) { break }
        }
        await test.pool.shutdown()
        try await relay.close()
    }
}
