import CarillonLab
import Foundation
import Testing

/// The command as users run it.
struct ServeTests {
    @Test(arguments: [SIGTERM, SIGINT])
    func servePrintsItsAddressAndRequestsAndExitsCleanly(_ signal: Int32) async throws {
        let folder = NSTemporaryDirectory() + "/lab-test-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let served = try Served([
            "serve", "--folder", folder, "--topic", "com.example.chat", "--project", "my-project",
            "--project", "other-project", "--misbehave", "answer,status=429,retry_after=1,service=apns",
        ])
        // The last line of its message when it is ready.
        _ = await served.output(until: "\n}\n")
        let data = try #require(FileManager.default.contents(atPath: folder + "/lab.json"))
        let addresses = try JSONDecoder().decode(LabAddresses.self, from: data)
        #expect(addresses.apns.topic == "com.example.chat")
        let keyFile = try #require(addresses.apns.keyFile)
        let attributes = try FileManager.default.attributesOfItem(atPath: keyFile)
        #expect(attributes[.posixPermissions] as? Int == 0o600)

        #expect(addresses.apnsSandbox?.keyFile == keyFile)
        #expect(addresses.apns.certificateFile == folder + "/push-certificate.pem")

        let vapidFile = try #require(addresses.webPush?.keyFile)
        #expect(
            try VAPIDCredentials(keyPEM: String(contentsOfFile: vapidFile, encoding: .utf8)).applicationServerKey
                == addresses.webPush?.applicationServerKey
        )
        let vapidAttributes = try FileManager.default.attributesOfItem(atPath: vapidFile)
        #expect(vapidAttributes[.posixPermissions] as? Int == 0o600)

        let fcm = try #require(addresses.fcm)
        #expect(fcm.projectID == "my-project")
        #expect(fcm.projects.map(\.projectID) == ["my-project", "other-project"])
        let account = try String(contentsOfFile: fcm.serviceAccountFile, encoding: .utf8)
        #expect(account.contains(fcm.tokenURL))

        let credentials = try LabCredentials(
            keyPEM: String(contentsOfFile: keyFile, encoding: .utf8),
            keyID: addresses.apns.keyID,
            teamID: addresses.apns.teamID,
            topic: addresses.apns.topic
        )
        let jwt = try await ProviderJWT.make(credentials, issuedAt: Int64(Date().timeIntervalSince1970))
        let request = [
            "--http2", "--cacert", addresses.caFile, addresses.apns.url + "/3/device/" + APNsBench.token,
            "-d", APNsBench.alert, "-H", "authorization: bearer \(jwt)", "-H", "apns-topic: com.example.chat",
            "-H", "apns-push-type: alert",
        ]
        let answers = try await Curl.run([request, request])
        #expect(answers.map(\.status) == [429, 200])
        let push = try await Curl.run(try #require(addresses.unifiedPush) + "/up1?up=1", "-d", "a message")
        #expect(push.status == 200)
        let seen = try await Curl.run(try #require(addresses.control) + "/received?wait=3")
        #expect(seen.body.split(separator: "\n").count == 3)

        let ntfy = try #require(addresses.ntfy)
        #expect(try await Curl.run(ntfy.url + "/news", "-d", "for people").status == 200)
        let gotify = try #require(addresses.gotify)
        #expect(
            try await Curl.run(gotify.url + "/message?token=" + #require(gotify.token), "-d", "message=x").status == 200
        )

        let printed = await served.output(until: "a message")
        #expect(printed.contains("apns 429 TooManyRequests (answer) POST"))
        #expect(printed.contains(#""alert" : "hello""#))
        #expect(!printed.contains(APNsBench.token))
        #expect(await served.end(signal) == 0)
        #expect(!FileManager.default.fileExists(atPath: folder + "/lab.json"))
        #expect(FileManager.default.fileExists(atPath: keyFile))
        #expect(try String(contentsOfFile: fcm.serviceAccountFile, encoding: .utf8) == account)

        let again = try Served(["serve", "--folder", folder, "--project", "my-project"])
        _ = await again.output(until: "\n}\n")
        let kept = try FCMServiceAccount(json: String(contentsOfFile: fcm.serviceAccountFile, encoding: .utf8))
        #expect(try kept == FCMServiceAccount(json: account))
        #expect(await again.end(signal) == 0)
    }

    @Test func commandLineErrorsAreExplained() async throws {
        let served = try Served(["serve", "--folder", NSTemporaryDirectory(), "--misbehave", "dance"])
        #expect(await served.output().contains("kind is one of answer, html, goaway"))
        #expect(await served.end(0) != 0)
    }

    @Test func helpShowsExamples() async throws {
        let help = await (try Served(["--help"])).output()
        #expect(help.contains("carillon-lab serve --folder /tmp/lab"))
        #expect(help.contains("/received?wait=2"))
    }
}
