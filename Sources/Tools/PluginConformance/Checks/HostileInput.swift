import Cipher

/// Inputs that plugins must survive.
enum HostileInput {
    private static let deep = [UInt8](repeating: UInt8(ascii: "["), count: 100_000)
    private static let notUTF8: [UInt8] = [0xff, 0xfe, 0xc3, 0x28, 0xed, 0xa0, 0x80, 0xf0, 0x9f]
    private static let megabyte = [UInt8](repeating: UInt8(ascii: "m"), count: 1 << 20)

    static let configurations: [(what: String, text: [UInt8])] = [
        ("an empty string", []),
        ("an array", Array("[]".utf8)),
        ("null", Array("null".utf8)),
        ("a number", Array("1e999".utf8)),
        ("a JSON string", Array(#""{}""#.utf8)),
        ("an open object", Array("{".utf8)),
        ("an object and trailing data", Array("{} {}".utf8)),
        ("a member without a value", Array(#"{"a":}"#.utf8)),
        ("100,000 open arrays", deep),
        ("an object with 100,000 open arrays", Array(#"{"a":"#.utf8) + deep),
        ("invalid UTF-8", notUTF8),
        ("a key that is not UTF-8", Array(#"{""#.utf8) + notUTF8 + Array(#"":1}"#.utf8)),
        ("a NUL in the middle", Array("{\"a\u{0}b\":1}".utf8)),
        ("half a surrogate", Array(#"{"a":"\ud800"}"#.utf8)),
        ("an unknown member", Array(#"{"carillon-conformance":true}"#.utf8)),
        ("a megabyte", Array(#"{"a":""#.utf8) + megabyte + Array(#""}"#.utf8)),
    ]

    /// Texts of a notification; a router never passes the last one.
    static let texts: [(what: String, text: [UInt8])] = [
        ("quotes and backslashes", Array(#"""\" \ ' </script> %s%n {{x}} ${x}"#.utf8)),
        ("control characters", Array(0x01...0x1f) + [0x7f]),
        ("line ends", Array("a\r\nx-injected: 1\r\n\r\nb".utf8)),
        ("NUL", Array("a\u{0}b".utf8)),
        ("emoji and right-to-left text", Array("👨‍👩‍👧‍👦 \u{202e}turned\u{2066} e\u{301}\u{fffd}\u{10ffff}".utf8)),
        ("a megabyte", megabyte),
        ("invalid UTF-8", notUTF8),
    ]

    /// Words for operators' commands, usual and hostile.
    static let commandWords = ["channels", "list", "show", "create", "delete", "send", "--", "-h", "../../etc/passwd"]
        .map { Array($0.utf8) }

    static func registrations(of samples: [Parcel]) -> [(String, Parcel)] {
        let bases = Array(samples.prefix(3))
        var all: [(String, Parcel)] = []
        for base in bases {
            for (what, text) in [("an empty string", [])] + texts {
                all.append(("a token of \(what)", base.with { $0.token = text }))
                all.append(("a token followed by \(what)", base.with { $0.token += text }))
                for index in base.fields.indices {
                    all.append(("a field of \(what)", base.with { $0.fields[index].value = text }))
                    all.append(("a field called \(what)", base.with { $0.fields[index].name = text }))
                }
            }
            all.append(("no fields", base.with { $0.fields = [] }))
            all.append(("every field twice", base.with { $0.fields += $0.fields }))
            all.append(
                (
                    "10,000 fields",
                    base.with {
                        $0.fields += (0..<10_000)
                            .map { Parcel.Field(name: Array("f\($0)".utf8), value: Array("v".utf8)) }
                    }
                )
            )
        }
        guard let base = bases.first else { return all }
        for token in ["http://", "https://", "https://[", "https://user:pass@host/", "file:///etc/passwd", "//host"] {
            all.append(("the token \(token)", base.with { $0.token = Array(token.utf8) }))
        }
        return all
    }

    static let answers: [(what: String, answer: Answer)] = {
        let json = [("content-type", "application/json")]
        let deepText = String(decoding: deep, as: UTF8.self)
        var all: [(String, Answer)] = [
            ("an empty 204", Answer(204)),
            ("HTML with 200", Answer(200, headers: [("content-type", "text/html")], body: "<html>login</html>")),
            ("HTML with 403", Answer(403, headers: [("content-type", "text/html")], body: "<html>proxy</html>")),
            ("deep JSON with 200", Answer(200, headers: json, body: deepText)),
            ("deep JSON with 400", Answer(400, headers: json, body: deepText)),
            ("open JSON with 410", Answer(410, headers: json, body: #"{"reason":"#)),
            ("JSON of other types", Answer(400, headers: json, body: #"{"reason":[1],"timestamp":"x","error":7}"#)),
            ("huge numbers", Answer(410, headers: json, body: #"{"reason":"Unregistered","timestamp":1e400}"#)),
            ("status 100", Answer(100)), ("status 600", Answer(600)), ("status 999", Answer(999)),
        ]
        var answer = Answer(200)
        answer.body = megabyte
        all.append(("a megabyte with 200", answer))
        answer.status = 400
        all.append(("a megabyte with 400", answer))
        answer.body = notUTF8
        all.append(("a body that is not UTF-8", answer))
        answer.headers = texts.flatMap { [($0.text, Array("1".utf8)), (Array("retry-after".utf8), $0.text)] }
        answer.status = 429
        all.append(("hostile headers with 429", answer))
        answer.headers = (0..<1000).map { (Array("h\($0)".utf8), []) }
        answer.status = 503
        all.append(("1,000 headers with 503", answer))
        return all
    }()

    /// Notifications with odd numbers, many buttons, and invalid JSON.
    static func parcels(of sample: Parcel) -> [(String, Parcel)] {
        let button = Parcel.Button(
            id: Array("app.reply".utf8),
            label: Array("Reply".utf8),
            url: Array("app://reply".utf8),
            icon: Array("arrow".utf8)
        )
        var all: [(String, Parcel)] = [
            ("a count of 0", sample.with { $0.count = 0 }),
            ("a count of 2^32 - 1", sample.with { $0.count = .max }),
            ("a future urgency", sample.with { $0.urgency = 99 }),
            ("a negative urgency", sample.with { $0.urgency = -1 }),
            ("a negative mode", sample.with { $0.mode = .min }),
            ("a notification that expired in 1970", sample.with { $0.expiresAt = 1 }),
            ("a notification that never expires", sample.with { $0.expiresAt = .max }),
            ("a device that was never registered", sample.with { $0.registeredAt = 0 }),
            ("a notification that never expires", sample.with { $0.registeredAt = .max }),
            ("1,000 buttons", sample.with { $0.buttons = Array(repeating: button, count: 1000) }),
            ("no texts", sample.with { parcel in for (_, text) in Parcel.texts { parcel[keyPath: text] = [] } }),
        ]
        for (what, text) in configurations {
            all.append(("\(what) as data", sample.with { $0.data = text }))
            all.append(("\(what) as native", sample.with { $0.native = text }))
        }
        return all
    }
}

/// Registrations in the formats of the usual push services.
enum Samples {
    /// An endpoint that no push service can have: its name is reserved (RFC 2606 section 2).
    static let endpoint = "https://push.conformance.example/up/Zk3sConformanceEndpoint?t=1"

    /// The registration given for the platform, or else one of each usual kind and the plugin's own sample.
    static func parcels(_ bench: TransportBench) -> [Parcel] {
        if let given = bench.givenRegistration { return [Parcel(to: given)] }
        return registrations.map(Parcel.init(to:)) + (bench.describedSample.map { [$0] } ?? [])
    }

    private static let registrations: [ConformancePlan.Registration] = {
        let keys = [
            "p256dh": Base64URL.encode(P256PrivateKey().publicKey.x963Representation),
            "auth": Base64URL.encode(SecureRandom.bytes(16)),
        ]
        let hex = Hex.encode(SHA256.hash(Array("conformance".utf8)))
        return [
            ConformancePlan.Registration(token: endpoint, fields: keys),
            ConformancePlan.Registration(token: endpoint),
            ConformancePlan.Registration(token: hex),
            ConformancePlan.Registration(token: "cOnF0rmanceQ1:APA91b" + String(repeating: "Zx-9_", count: 26)),
            ConformancePlan.Registration(token: "conformance-registration-token"),
        ]
    }()
}
