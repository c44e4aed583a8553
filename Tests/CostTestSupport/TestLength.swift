import Foundation

/// How often tests repeat what proves more the more often it is done. The short form finds what breaks; the long form,
/// which `contrib/test --long` sets by CARILLON_TESTS=long, finds what breaks seldom.
package enum TestLength {
    package static let isLong = ProcessInfo.processInfo.environment["CARILLON_TESTS"] == "long"

    package static func rounds(_ short: Int, long: Int) -> Int { isLong ? long : short }
}
