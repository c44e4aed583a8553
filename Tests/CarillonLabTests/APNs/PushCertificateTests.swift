import CarillonLab
import Foundation
import Testing

/// Certificates instead of provider tokens; curl and openssl are the clients.
struct PushCertificateTests {
    private func with<Result>(
        _ certificate: PushCertificate,
        _ body: (String) async throws -> Result
    ) async throws -> Result {
        try await TemporaryFile.with(Array((certificate.certificatePEM + certificate.keyPEM).utf8), body)
    }

    private func request(_ bench: APNsBench, _ file: String, _ headers: [String: String?] = [:]) -> [String] {
        bench.request(jwt: .some(nil), headers: headers, more: ["--cert", file])
    }

    @Test func opensslReadsTheLabsCertificate() async throws {
        let bench = try await APNsBench()
        let files = bench.lab.addresses.apns
        let text = try await Tool.run("openssl", ["x509", "-in", files.certificateFile, "-noout", "-text"]).text
        #expect(
            text.replacing(" = ", with: "=").contains("UID=com.example.app, CN=Apple Push Services: com.example.app")
        )
        #expect(text.contains("1.2.840.113635.100.6.3.6:"))
        #expect(text.contains("com.example.app.voip"))
        let verified = try await Tool.run(
            "openssl",
            ["verify", "-CAfile", bench.lab.addresses.caFile, files.certificateFile]
        )
        #expect(verified.status == 0, "\(verified.text)")
        let opened = try await Tool.run(
            "openssl",
            ["pkcs12", "-in", files.pkcs12File, "-passin", "file:" + files.passwordFile, "-nodes"]
        )
        #expect(opened.text.contains("BEGIN PRIVATE KEY"))
        #expect(opened.text.contains("BEGIN CERTIFICATE"))
        let attributes = try FileManager.default.attributesOfItem(atPath: files.certificateFile)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let asn1 = try await Tool.run(
            "openssl",
            ["asn1parse", "-in", files.certificateFile, "-strparse", try await Self.place(of: files.certificateFile)]
        ).text
        #expect(
            asn1.split(separator: "\n").map { $0.split(separator: ":").last.map(String.init) ?? "" }.contains("voip")
        )
        await bench.lab.shutdown()
    }

    /// Returns the offset of the value of the extension with the topics.
    private static func place(of file: String) async throws -> String {
        let lines = try await Tool.run("openssl", ["asn1parse", "-in", file]).text.split(separator: "\n")
        let index = try #require(lines.firstIndex { $0.contains("1.2.840.113635.100.6.3.6") })
        return String(try #require(lines[index + 1].split(separator: ":").first)).trimmingCharacters(in: .whitespaces)
    }

    @Test func takesTheTopicsOfTheCertificate() async throws {
        let bench = try await APNsBench()
        let table: [([String: String?], String?)] = [
            ([:], nil), (["apns-topic": "com.example.app.voip", "apns-push-type": "voip"], nil),
            (["apns-topic": nil], "MissingTopic"), (["apns-topic": "com.example.other"], "TopicDisallowed"),
            (["apns-topic": "com.example.app.voip"], "BadTopic"), (["apns-push-type": "voip"], "BadTopic"),
            (["apns-topic": "com.example.app.location-query", "apns-push-type": "location"], "TopicDisallowed"),
            // With a certificate, the header does not matter.
            (["authorization": "bearer nonsense"], nil),
        ]
        let answers = try await with(bench.lab.pushCertificate) { file in
            try await Curl.run(table.map { request(bench, file, $0.0) })
        }
        #expect(answers.map(\.reason) == table.map(\.1))
        await bench.lab.shutdown()
    }

    @Test func aCertificateOfOneTopicNeedsNoHeader() async throws {
        let bench = try await APNsBench()
        let certificate = try bench.lab.issuePushCertificate(topics: ["com.example.single"])
        let answer = try await with(certificate) { file in
            try await bench.send(request(bench, file, ["apns-topic": nil]))[0]
        }
        #expect(answer.status == 200)
        await bench.lab.shutdown()
    }

    @Test func mobileDeviceManagementHasTheTopicOfItsCertificate() async throws {
        let bench = try await APNsBench()
        let topic = "com.apple.mgmt.External.5a0c5a5e"
        let certificate = try bench.lab.issuePushCertificate(topics: [topic])
        let answer = try await with(certificate) { file in
            try await bench.send(
                bench.request(
                    jwt: .some(nil),
                    headers: ["apns-topic": topic, "apns-push-type": "mdm"],
                    more: ["--cert", file],
                    body: #"{"mdm":"magic"}"#
                )
            )[0]
        }
        #expect(answer.status == 200)
        await bench.lab.shutdown()
    }

    @Test func invalidCertificateGetsApplesReason() async throws {
        let bench = try await APNsBench()
        let topics = ["com.example.app"]
        let stranger = try await Lab.start()
        let table: [(PushCertificate, String)] = [
            (stranger.pushCertificate, "BadCertificate"),
            (try bench.lab.issuePushCertificate(topics: topics, daysLeft: -1), "BadCertificate"),
            (try bench.lab.issuePushCertificate(topics: topics, environments: [.sandbox]), "BadCertificateEnvironment"),
        ]
        for (certificate, reason) in table {
            let answer = try await with(certificate) { try await bench.send(request(bench, $0))[0] }
            #expect(answer.status == 403)
            #expect(answer.reason == reason)
        }
        let sandbox = try #require(bench.lab.addresses.apnsSandbox?.url)
        let answer = try await with(table[2].0) { file in
            try await bench.send(bench.request(jwt: .some(nil), more: ["--cert", file], url: sandbox))[0]
        }
        #expect(answer.status == 200)
        #expect(throws: LabError.self) { try bench.lab.issuePushCertificate(topics: []) }
        await stranger.shutdown()
        await bench.lab.shutdown()
    }

    @Test func certificateConnectionGetsAllStreamsImmediately() async throws {
        let bench = try await APNsBench { $0.apns.streams = 321 }
        let frames = try await with(bench.lab.pushCertificate) { file in
            try await bench.frames("--cert=" + file, "--key=" + file)
        }
        // The client sends the first request after both.
        let received = frames.components(separatedBy: "recv SETTINGS frame").dropFirst()
        let limits = received.compactMap { frame in
            frame.components(separatedBy: "SETTINGS_MAX_CONCURRENT_STREAMS(0x03):").dropFirst().first?.prefix {
                $0.isNumber
            }
        }
        #expect(limits.prefix(2) == ["1", "321"], "\(frames)")
        await bench.lab.shutdown()
    }
}
