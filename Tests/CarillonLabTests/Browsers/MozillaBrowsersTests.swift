import Foundation
import Synchronization
import Testing

@testable import CarillonLab

/// Frames that Firefox sends, and the responses.
@Suite struct MozillaBrowsersTests {
    private var service = MozillaBrowsers(random: Self.counter())

    /// Returns the frames to a connection.
    private static func frames(_ actions: [BrowserAction], to connection: Int) -> [JSONValue] {
        actions.compactMap { action in
            guard case .send(let bytes, connection) = action else { return nil }
            return JSONValue(parsing: bytes)
        }
    }

    /// Returns different bytes each time.
    private static func counter() -> @Sendable (Int) -> [UInt8] {
        let count = Mutex<UInt8>(0)
        return { length in
            let byte = count.withLock { count in
                count += 1
                return count
            }
            return Array(repeating: byte, count: length)
        }
    }

    @discardableResult
    private mutating func say(_ text: String, _ connection: Int = 1) -> [BrowserAction] {
        service.receive(Array(text.utf8), from: connection) { "https://push.example.com/" + $0 }
    }

    /// Sends hello and subscribes; returns the name of the browser and the id of the subscription.
    private mutating func subscribe(_ connection: Int = 1) throws -> (browser: String, id: String) {
        let hello = Self.frames(
            say(#"{"messageType":"hello","broadcasts":{},"use_webpush":true}"#, connection),
            to: connection
        )
        let browser = try #require(hello.first?["uaid"]?.string)
        let actions = say(#"{"channelID":"5e2a","messageType":"register","key":"BPUw="}"#, connection)
        guard case .subscribe(let id, let key)? = actions.first else { throw LabError.invalid("no subscription") }
        #expect(key == "BPUw")
        let answer = try #require(Self.frames(actions, to: connection).first)
        #expect(answer["pushEndpoint"]?.string == "https://push.example.com/\(id)")
        #expect(answer["channelID"]?.string == "5e2a" && answer["status"]?.integer == 200)
        return (browser, id)
    }

    private static func message(to id: String, _ body: [UInt8] = [1, 2, 3]) -> BrowserMessage {
        BrowserMessage(subscription: id, timeToLive: 60, body: body, encoding: body.isEmpty ? nil : "aes128gcm")
    }

    @Test mutating func helloRequestsKeys() throws {
        let hello = try #require(Self.frames(say(#"{"messageType":"hello"}"#), to: 1).first)
        #expect(hello["use_webpush"] == .bool(true) && hello["status"]?.integer == 200)
        #expect(say("{}") == [.send(Array("{}".utf8), to: 1)])
    }

    @Test mutating func aMessageGoesToItsBrowserAndWaitsForTheAcknowledgement() throws {
        let (browser, id) = try subscribe()
        _ = try subscribe(2)
        let pushed = service.push(Self.message(to: id))
        let frame = try #require(Self.frames(pushed, to: 1).first)
        #expect(frame["channelID"]?.string == "5e2a" && frame["data"]?.string == "AQID" && frame["ttl"]?.integer == 60)
        #expect(frame["headers"]?["encoding"]?.string == "aes128gcm")
        #expect(pushed.count == 1)

        service.disconnect(1)
        let again = say(#"{"messageType":"hello","uaid":"\#(browser)"}"#, 3)
        #expect(Self.frames(again, to: 3).last == frame)
        let version = try #require(frame["version"]?.string)
        say(#"{"messageType":"ack","updates":[{"channelID":"5e2a","version":"\#(version)","code":100}]}"#, 3)
        #expect(say(#"{"messageType":"hello","uaid":"\#(browser)"}"#, 4).count == 1)
        #expect(service.codes == [100: 1])
    }

    @Test mutating func aMessageToABrowserThatIsAwayWaits() throws {
        let (browser, id) = try subscribe()
        service.disconnect(1)
        #expect(service.push(Self.message(to: id, [])) == [])
        let frames = Self.frames(say(#"{"messageType":"hello","uaid":"\#(browser)"}"#, 2), to: 2)
        #expect(frames.count == 2)
        #expect(frames[1]["messageType"]?.string == "notification" && frames[1]["data"] == nil)
    }

    @Test mutating func unsubscribingEndsOnlyTheBrowsersOwn() throws {
        let (_, mine) = try subscribe()
        let (_, other) = try subscribe(2)
        let actions = say(#"{"channelID":"5e2a","messageType":"unregister","code":200}"#)
        #expect(actions.first == .expire(id: mine) && actions.count == 2)
        #expect(service.push(Self.message(to: mine)) == [])
        #expect(service.push(Self.message(to: other)).count == 1)
    }

    @Test mutating func aForgottenBrowserGetsAnotherName() throws {
        let (browser, id) = try subscribe()
        #expect(service.forget() == [.expire(id: id), .close(1)])
        service.disconnect(1)
        let hello = Self.frames(say(#"{"messageType":"hello","uaid":"\#(browser)"}"#, 2), to: 2)
        #expect(hello.count == 1 && hello[0]["uaid"]?.string != browser)
        #expect(service.push(Self.message(to: id)) == [])
    }

    @Test(arguments: [
        "", "[]", "no json", #"{"messageType":"register"}"#, #"{"messageType":"unheard-of"}"#,
        #"{"messageType":"register","channelID":"before hello","key":"BPUw"}"#,
    ])
    func malformedMessageClosesTheConnection(text: String) {
        var service = service
        #expect(service.receive(Array(text.utf8), from: 1) { $0 } == [.close(1)])
    }
}
