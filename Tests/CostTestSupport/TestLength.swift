import Foundation

/// The number of rounds of repeated tests. The short form finds frequent failures; the long form, which `contrib/test
/// --long` sets by CARILLON_TESTS=long, finds rare ones.
package enum TestLength {
    package static let isLong = ProcessInfo.processInfo.environment["CARILLON_TESTS"] == "long"

    package static func rounds(_ short: Int, long: Int) -> Int { isLong ? long : short }
}
