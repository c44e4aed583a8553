import RandomTestSupport
import Testing
import TimeTestSupport

@testable import HTTPClient

/// HPACK output, checked by nghttp2's decoder.
@Suite(.serialized) struct HPACKEncoderTests {
    private let judge: HeaderJudge

    init() throws {
        judge = try HeaderJudge()
    }

    private func exchange(
        _ path: String = "/3/device/ab",
        method: String = "POST",
        fields: HTTPFields = [],
        body: [UInt8] = []
    ) throws -> Exchange {
        let url = try #require(URLParts("https://push.example" + path))
        let request = HTTPRequest(method: method, url: url.normalized, headers: fields, body: body)
        return Exchange(request: request, url: url, deadline: 0) { _ in }
    }

    private func encode(_ exchange: Exchange, _ encoder: inout HPACKEncoder) throws -> [UInt8] {
        defer { exchange.fail(.closed, mayHaveBeenProcessed: false) }
        var memory = [UInt8](repeating: 0, count: HPACKEncoder.bound(exchange))
        let count = try memory.withUnsafeMutableBytes { memory in
            var cursor = try #require(BlockCursor(memory))
            encoder.encode(exchange, to: &cursor)
            return cursor.count
        }
        return Array(memory[..<count])
    }

    /// Encodes, checks the result, and returns its size in bytes.
    @discardableResult
    private func check(_ exchange: Exchange, _ encoder: inout HPACKEncoder) throws -> Int {
        let request = exchange.request
        let target = exchange.url.target
        let block = try encode(exchange, &encoder)
        var expected: [[String]] = [
            [":method", request.method], [":scheme", "https"], [":authority", "push.example"], [":path", target],
        ]
        expected += request.headers.filter { $0.name != "te" && $0.name != "host" }.map { [$0.name, $0.value] }
        if !request.body.isEmpty { expected.append(["content-length", String(request.body.count)]) }
        let fields = try #require(judge.decode(block))
        #expect(fields.map { [$0.name, $0.value] } == expected)
        return block.count
    }

    private func push(_ number: Int, token: String) -> HTTPFields {
        [
            HTTPField("authorization", "bearer " + token),
            HTTPField("apns-id", "9d4f1c2e-5b7a-4e21-8c3d-" + String(100_000_000_000 + number)),
            HTTPField("apns-topic", "com.example.app"), HTTPField("apns-push-type", "alert"),
            HTTPField("apns-priority", number.isMultiple(of: 2) ? "10" : "5"),
            HTTPField("apns-expiration", String(number)),
        ]
    }

    @Test func repeatedHeadersAreCompressed() throws {
        var encoder = HPACKEncoder()
        let token = String(repeating: "t", count: 200)
        var sizes: [Int] = []
        for number in 0..<50 {
            sizes.append(
                try check(exchange("/3/device/\(number)", fields: push(number, token: token), body: [1]), &encoder)
            )
        }
        #expect(sizes[0] > 350)
        // Path, apns-id and apns-expiration with their lengths, content-length, and seven single bytes.
        #expect(sizes[2...].allSatisfy { $0 < 90 })
        // A new token is written in full twice before it shrinks again.
        let other = String(repeating: "u", count: 200)
        for number in 50..<60 {
            sizes.append(try check(exchange("/1", fields: push(number, token: other), body: [1]), &encoder))
        }
        #expect(sizes[50] > 250 && sizes[51] > 250)
        #expect(sizes[52...].allSatisfy { $0 < 90 })
    }

    @Test func appleRulesAreKept() throws {
        var encoder = HPACKEncoder()
        for number in 0..<20 {
            try check(exchange("/3/device/\(number)", fields: push(number, token: "short")), &encoder)
        }
        let names = judge.table.map(\.name)
        // The name of each, with the first value, and no later one.
        #expect(
            judge.table.filter { ["apns-id", "apns-expiration"].contains($0.name) }.map(\.value)
                == ["0", "9d4f1c2e-5b7a-4e21-8c3d-100000000000"]
        )
        #expect(names.filter { $0 == "apns-priority" }.count == 2)
        #expect(Set(names).isDisjoint(with: [":path", "authorization", "content-length"]))
    }

    @Test func secretsNeverEnterATable() throws {
        var encoder = HPACKEncoder()
        for _ in 0..<10 {
            let fields: HTTPFields = [
                HTTPField("cookie", String(repeating: "c", count: 100)), HTTPField("authorization", "Basic dTpw"),
                HTTPField("x-gotify-key", "AbCdEf"),
            ]
            let block = try encode(exchange("/device/secret", fields: fields), &encoder)
            let decoded = try #require(judge.decode(block))
            #expect(
                decoded.filter(\.isNeverIndexed).map(\.name) == [":path", "cookie", "authorization", "x-gotify-key"]
            )
        }
        #expect(judge.table.map(\.name) == [":authority"])
    }

    @Test func uniqueValuesAreNotIndexed() throws {
        var encoder = HPACKEncoder()
        for number in 0..<200 {
            try check(exchange(fields: [HTTPField("x-trace", "trace \(number)"), HTTPField("ttl", "60")]), &encoder)
        }
        #expect(judge.table.filter { $0.name == "x-trace" }.count == 4)
        // A field that repeats from now on gets in again.
        for _ in 0..<3 { try check(exchange(fields: [HTTPField("x-trace", "the same")]), &encoder) }
        #expect(judge.table.first == HeaderJudge.Field(name: "x-trace", value: "the same"))
    }

    @Test func connectionSpecificHeadersAreOmitted() throws {
        var encoder = HPACKEncoder()
        let fields: HTTPFields = [HTTPField("host", "elsewhere"), HTTPField("te", "gzip"), HTTPField("a", "b")]
        for method in ["GET", "POST", "PUT", "DELETE", "PROPFIND", "GET"] {
            try check(exchange(method: method, fields: fields), &encoder)
        }
    }

    @Test(arguments: 0..<20) func encodedHeadersDecodeWhileTheTableChanges(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        var encoder = HPACKEncoder()
        let names =
            (0..<90).map { "name-\($0)" } + ["authorization", "apns-id", "topic", "ttl", "accept", "cookie", "te"]
        for _ in 0..<100 {
            if random.once(in: 12) {
                var smallest = UInt32.max
                var size: UInt32 = 0
                for _ in 0..<random.number(1...3) {
                    size = [0, 1, 40, 100, 500, 2_000, 4_095, 4_096, 65_536, .max].randomElement(using: &random) ?? 0
                    smallest = min(size, smallest)
                    judge.changeTableSize(Int(size))
                }
                encoder.limitTable(to: size, atLeastOnceTo: smallest)
            }
            var fields = HTTPFields()
            for _ in 0..<random.number(0...12) {
                let name = names[random.number(0...(random.once(in: 4) ? names.count - 1 : 8))]
                let length = random.once(in: 20) ? random.number(0...5_000) : random.number(0...12)
                let letter = ["a", "b", "c", "é"][random.number(0...3)]
                fields.append(name, String(repeating: letter, count: length))
            }
            let body: [UInt8] = random.once(in: 2) ? [] : random.bytes(random.number(1...300))
            try check(exchange("/\(random.number(0...9))", fields: fields, body: body), &encoder)
            #expect(judge.tableSize <= 4_096)
        }
    }
}
