// SPDX-License-Identifier: Apache-2.0
@testable import CommandLineTool

/// Parses `martlet get` with these arguments into a plan.
func plan(_ arguments: String...) throws -> GetPlan {
    try GetCommand.plan(arguments)
}
