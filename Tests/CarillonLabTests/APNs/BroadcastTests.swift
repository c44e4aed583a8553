import CarillonLab
import Testing

/// Broadcast channels for Live Activities: management and pushes.
struct BroadcastTests {
    private static let update = #"{"aps":{"event":"update","timestamp":1,"content-state":{}}}"#
    private static let storing = #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#
    private static let app = "/1/apps/com.example.app"

    private func manage(
        _ bench: APNsBench,
        _ method: String,
        _ path: String = app + "/channels",
        _ headers: [String: String?] = [:],
        body: String = ""
    ) -> [String] {
        let none: [String: String?] = ["apns-topic": nil, "apns-push-type": nil]
        return bench.request(
            path: path,
            headers: none.merging(headers) { $1 },
            more: ["-X", method],
            body: body,
            url: bench.lab.addresses.apns.channelsURL
        )
    }

    private func send(
        _ bench: APNsBench,
        _ channel: String?,
        _ headers: [String: String?] = [:],
        path: String = "/4/broadcasts/apps/com.example.app",
        body: String = update,
        url: String? = nil
    ) -> [String] {
        let usual: [String: String?] = [
            "apns-topic": nil, "apns-push-type": "liveactivity", "apns-expiration": "0", "apns-priority": "5",
            "apns-channel-id": channel,
        ]
        return bench.request(path: path, headers: usual.merging(headers) { $1 }, body: body, url: url)
    }

    private func create(_ bench: APNsBench, _ body: String = storing) async throws -> String {
        let answer = try await bench.send(manage(bench, "POST", body: body))[0]
        #expect(answer.status == 201)
        return try #require(answer.headers["apns-channel-id"])
    }

    @Test func channelsAreCreatedReadListedAndDeleted() async throws {
        let bench = try await APNsBench()
        let id = try await create(bench)
        let requestID = "5a0c5a5e-0000-4000-8000-000000000000"
        let answers = try await bench.send(
            manage(bench, "GET", Self.app + "/channels", ["apns-channel-id": id, "apns-request-id": requestID]),
            manage(bench, "GET", Self.app + "/all-channels"),
            manage(bench, "DELETE", Self.app + "/channels", ["apns-channel-id": id]),
            manage(bench, "DELETE", Self.app + "/channels", ["apns-channel-id": id]),
            manage(bench, "GET", Self.app + "/all-channels")
        )
        #expect(answers.map(\.status) == [200, 200, 204, 400, 200])
        #expect(answers[0].body == Self.storing)
        #expect(answers[0].headers["apns-request-id"] == requestID)
        #expect(answers[1].json["channels"] as? [String] == [id])
        #expect(answers[1].headers["apns-request-id"]?.count == 36)
        #expect(answers[3].reason == "ChannelNotRegistered")
        #expect(answers[4].json["channels"] as? [String] == [])
        let received = bench.lab.received
        #expect(received.map(\.service) == Array(repeating: .apnsChannels, count: 6))
        #expect(received.map(\.target) == Array(repeating: "com.example.app", count: 6))
        await bench.lab.shutdown()
    }

    @Test func invalidManagementRequestsGetApplesReasons() async throws {
        let bench = try await APNsBench()
        let table: [([String], Int, String)] = [
            (manage(bench, "POST"), 400, "PayloadEmpty"),
            (manage(bench, "POST", body: "[]"), 400, "BadRequestPayload"),
            (manage(bench, "POST", body: #"{"message-storage-policy":1}"#), 400, "MissingPushType"),
            (manage(bench, "POST", body: #"{"message-storage-policy":1,"push-type":"alert"}"#), 400, "InvalidPushType"),
            (manage(bench, "POST", body: #"{"push-type":"LiveActivity"}"#), 400, "BadRequestParams"),
            (
                manage(bench, "POST", body: #"{"message-storage-policy":2,"push-type":"LiveActivity"}"#), 400,
                "BadRequestParams"
            ),
            (manage(bench, "GET"), 400, "MissingChannelId"),
            (manage(bench, "GET", Self.app + "/channels", ["apns-channel-id": "!"]), 400, "BadChannelId"),
            (manage(bench, "GET", Self.app + "/channels", ["apns-channel-id": "AAAA"]), 400, "ChannelNotRegistered"),
            (manage(bench, "GET", Self.app + "/all-channels", ["apns-request-id": "1"]), 400, "BadMessageId"),
            (manage(bench, "PUT"), 405, "MethodNotAllowed"), (manage(bench, "GET", "/1/apps"), 404, "BadPath"),
            (manage(bench, "GET", Self.app + "/some-channels"), 404, "BadPath"),
            (manage(bench, "GET", "/1/apps/com.example.other/all-channels"), 403, "TopicMismatch"),
            (manage(bench, "GET", Self.app + "/all-channels", ["authorization": nil]), 403, "MissingProviderToken"),
        ]
        let answers = try await Curl.run(table.map(\.0))
        #expect(answers.map(\.status) == table.map(\.1))
        #expect(answers.map(\.reason) == table.map(\.2))
        #expect(bench.lab.received.allSatisfy { $0.detail?.isEmpty == false })
        await bench.lab.shutdown()
    }

    @Test func broadcastsAreTakenAndRecorded() async throws {
        let bench = try await APNsBench()
        let storing = try await create(bench)
        let forgetful = try await create(bench, #"{"message-storage-policy":0,"push-type":"LiveActivity"}"#)
        let id = "5a0c5a5e-0000-4000-8000-000000000000"
        let answers = try await bench.send(
            send(bench, storing, ["apns-expiration": "1900000000", "apns-id": id]),
            send(bench, forgetful),
            send(bench, forgetful, ["apns-expiration": "1900000000"])
        )
        #expect(answers.map(\.reason) == [nil, nil, "BadExpirationDate"])
        #expect(answers[0].headers["apns-id"] == id)
        #expect(answers[0].headers["apns-request-id"]?.count == 36)
        let received = bench.lab.received.filter { $0.service == .apns }
        #expect(received.map(\.target) == [storing, forgetful, forgetful])
        #expect(received.map(\.isTaken) == [true, true, false])
        await bench.lab.shutdown()
    }

    @Test func invalidBroadcastsGetApplesReasons() async throws {
        let bench = try await APNsBench()
        let id = try await create(bench)
        func body(of count: Int) -> String {
            let empty = #"{"aps":{"event":"update","timestamp":1,"content-state":{"x":""}}}"#
            return empty.replacing("\"\"", with: "\"" + String(repeating: "x", count: count - empty.count) + "\"")
        }
        let table: [([String], Int, String?)] = [
            (send(bench, nil), 400, "MissingChannelId"), (send(bench, "!"), 400, "BadChannelId"),
            (send(bench, "AAAA"), 400, "ChannelNotRegistered"),
            (send(bench, id, ["apns-expiration": nil]), 400, "BadExpirationDate"),
            (send(bench, id, ["apns-expiration": "soon"]), 400, "BadExpirationDate"),
            (send(bench, id, ["apns-push-type": nil]), 400, "MissingPushType"),
            (send(bench, id, ["apns-push-type": "alert"]), 400, "InvalidPushType"),
            (send(bench, id, ["apns-priority": "7"]), 400, "BadPriority"),
            (send(bench, id, ["apns-priority": "1"]), 400, "BadPriority"),
            (send(bench, id, ["apns-id": "x"]), 400, "BadMessageId"),
            (send(bench, id, path: "/4/broadcasts/apps/"), 404, "BadPath"),
            (send(bench, id, path: "/4/broadcasts/apps/com.example.other"), 403, "TopicMismatch"),
            (send(bench, id, ["authorization": "bearer x"]), 403, "InvalidProviderToken"),
            (send(bench, id, body: ""), 400, "PayloadEmpty"), (send(bench, id, body: "{}"), 400, "BadRequestPayload"),
            (send(bench, id, body: body(of: 5_121)), 413, "PayloadTooLarge"),
            (send(bench, id, body: body(of: 5_120)), 200, nil),
            (
                send(
                    bench,
                    id,
                    body: #"{"aps":{"event":"start","timestamp":1,"content-state":{},"alert":{"title":"t"}}}"#
                ), 400, "BadRequestPayload"
            ),
        ]
        let answers = try await Curl.run(table.map(\.0))
        #expect(answers.map(\.status) == table.map(\.1))
        #expect(answers.map(\.reason) == table.map(\.2))
        await bench.lab.shutdown()
    }

    @Test func channelsBelongToOneEnvironment() async throws {
        let bench = try await APNsBench()
        let id = try await create(bench)
        let answer = try await bench.send(send(bench, id, url: bench.lab.addresses.apnsSandbox?.url))[0]
        #expect(answer.reason == "ChannelNotRegistered")
        await bench.lab.shutdown()
    }

    @Test func pushRequiresTheBroadcastCapability() async throws {
        let bench = try await APNsBench { $0.apns.allowsBroadcasts = false }
        let answers = try await bench.send(manage(bench, "POST", body: Self.storing), send(bench, "AAAA"))
        #expect(answers.map(\.reason) == ["FeatureNotEnabled", "FeatureNotEnabled"])
        await bench.lab.shutdown()
    }

    @Test func orderedResponseCreatesNoChannel() async throws {
        let bench = try await APNsBench()
        bench.lab.misbehave(
            ScriptedBehavior(.answer(status: 400, reason: "CannotCreateChannelConfig"), service: .apnsChannels)
        )
        let answers = try await bench.send(
            manage(bench, "POST", body: Self.storing),
            manage(bench, "GET", Self.app + "/all-channels")
        )
        #expect(answers[0].reason == "CannotCreateChannelConfig")
        #expect(answers[1].json["channels"] as? [String] == [])
        await bench.lab.shutdown()
    }
}
